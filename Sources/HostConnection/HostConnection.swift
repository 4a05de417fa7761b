@_exported public import HostAPI
internal import KeychainHost
@_exported public import KeychainModel
internal import Platform
internal import Prompters
@_exported public import SecureBytes
internal import StandardDrivers
@_exported public import SystemCrypto
internal import Wire

/// A Swift program's access to the host. The module re-exports the modules with the types of the host's interface.
///
///     let host = HostConnection.open()
///     for identity in try host.identities(.identities.where(.canSign, true)).found { … }
public enum HostConnection {
    /// The host of this program: the cards in its readers, the tokens of other modules, and the user's keychains.
    ///
    /// Questions are asked through pinentry, or on the terminal.
    public static func open() -> any KeychainService {
        Host(process(), prompter: FirstAvailablePrompter.standard())
    }

    /// The host that the programs of the session share, in its own process: `tokenctl host start`, or the systemd user unit. No card, file
    /// or secret key is opened in this process.
    ///
    /// - Parameter prompter: asks where a request leaves questions to its client; by default nobody. The host asks all others.
    /// - Throws: `errSecNotAvailable` where no host serves the session, or it serves other folders or another card service.
    public static func connect(asking prompter: (any Prompter)? = nil) throws(KeychainError) -> any KeychainService {
        guard let runtime = Environment.variable("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") else {
            throw KeychainError(.notAvailable, "the session has no folder for sockets (set XDG_RUNTIME_DIR)")
        }
        return try SocketClient(in: runtime, prompter: prompter ?? NoPrompter(), environment: variables).service
    }

    /// The variables for a host and for the modules of other makers that it starts, each as `NAME=value`. If there are more than a hello can
    /// have, modules go without their own.
    private static var variables: [[UInt8]] {
        let all = Environment.all.map { Array($0.utf8) }
        let count = all.reduce(0) { $0 + $1.count }
        return count <= FrameHeader.maximumFields / 2 ? all : all.filter(HostVariables.includes)
    }

    /// The host of a program that uses passwords alone. Only files have passwords, but a card may open a file; modules are not searched.
    package static func openForPasswords() -> any KeychainService {
        Host(ProcessKeychains(drivers: StandardDrivers.all), prompter: FirstAvailablePrompter.standard())
    }
}
