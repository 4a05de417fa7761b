internal import Glibc
internal import Platform

/// Whether SCardTransmit waits inside libpcsclite, without limit, while another program holds a transaction.
///
/// It does unless a variable of the environment says otherwise when the process makes its first context. Where it does, a command
/// outside of a transaction is preceded by a look whether the card is free, which is one more exchange with the service.
/// SCardBeginTransaction waits in any case.
public enum PCSCBlocking {
    private static let variable = "PCSCLITE_NO_BLOCKING"

    /// Has SCardTransmit, SCardStatus and SCardReconnect return at once where they meet another program's transaction.
    ///
    /// It concerns every user of libpcsclite in the process: for programs of this package, at their start. Programs that they
    /// start do not get the variable.
    public static func forbid() {
        unsafe setenv(variable, "1", 1)
        Environment.withhold(variable)
    }

    static let isForbidden = Environment.variable(variable) != nil
}
