internal import Glibc
internal import Platform

/// Whether SCardTransmit waits inside libpcsclite, without limit, while another program holds a transaction.
///
/// It waits unless an environment variable forbids that when the process makes its first context. Where it waits, each command
/// outside of a transaction costs one more exchange with the service, to check whether the card is free. SCardBeginTransaction
/// waits in any case.
public enum PCSCBlocking {
    private static let variable = "PCSCLITE_NO_BLOCKING"

    /// Has SCardTransmit, SCardStatus and SCardReconnect return at once where they meet another program's transaction.
    ///
    /// This affects every user of libpcsclite in the process: only programs of this package call it, at their start. Programs
    /// that they start do not get the variable.
    public static func forbid() {
        unsafe setenv(variable, "1", 1)
        Environment.withhold(variable)
    }

    static let isForbidden = Environment.variable(variable) != nil
}
