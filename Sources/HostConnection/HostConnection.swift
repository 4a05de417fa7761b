@_exported public import HostAPI
internal import KeychainHost
@_exported public import KeychainModel
@_exported public import SecureBytes
internal import StandardDrivers
@_exported public import SystemCrypto

/// A Swift program's access to the host. The module re-exports the modules with the types of the host's interface.
///
///     let host = HostConnection.open()
///     for identity in try host.identities(.identities.where(.canSign, true)).found { … }
public enum HostConnection {
    /// The host of this program: the cards in its readers, the tokens of other modules, and the user's keychains.
    ///
    /// Questions are asked through pinentry, or on the terminal.
    public static func open() -> any KeychainService { Host(process()) }

    /// The host of a program that uses passwords alone. Only files have passwords, but a card may open a file; modules are not searched.
    package static func openForPasswords() -> any KeychainService {
        Host(ProcessKeychains(drivers: StandardDrivers.all))
    }
}
