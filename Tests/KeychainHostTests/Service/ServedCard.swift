import Foundation
import HostAPI
import KeychainModel
import PIVDriver
import PKCS11Bridge
import Platform
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import HostServer
@testable import KeychainHost
@testable import VirtualCard

/// A card in a reader that a session's host uses, for commands in processes of their own.
final class ServedCard {
    let card: VirtualCard
    let reader: VirtualReader
    let user: TestUser
    /// The environment of the commands.
    let environment: [String: String]
    private let end: FileHandle

    init(_ card: VirtualCard) throws {
        self.card = card
        let reader = VirtualReader(name: "Desk Reader", card: card)
        self.reader = reader
        let user = try TestUser()
        self.user = user
        let runtime = user.folder.path("run")
        try FileManager.default.createDirectory(
            atPath: runtime, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let home = user.directories.home
        try PasswordCost.lower(in: home + "/.config")
        environment = [
            "HOME": home, "XDG_CONFIG_HOME": home + "/.config", "XDG_DATA_HOME": home + "/.local/share",
            "XDG_CACHE_HOME": home + "/.cache", "XDG_RUNTIME_DIR": runtime, "TOKENKIT_MODULES": "",
            "PCSCLITE_CSOCK_NAME": "/nonexistent", "PINENTRY_PROGRAM": "/bin/false", "TOKENKIT_HOST": "session",
        ]
        let ends = try ChildProcess.pipe()
        end = ends.write
        let host = SharedHost(
            listener: try HostSocket.listen(in: runtime),
            environment: HostEnvironment(environment.map { Array("\($0)=\($1)".utf8) }),
            ClientMaker(module: { _, _, _ in Cryptoki(Self.host(of: user, reader)) }) { _, _ in
                Self.host(of: user, reader)
            })
        BlockingThread.start {
            host.serve(end: ends.read.fileDescriptor)
            try? ends.read.close()
        }
    }

    deinit {
        try? end.close()
    }

    /// The state of a program that uses the host: no more than the files of the user are left of it for the next one.
    private static func host(of user: TestUser, _ reader: VirtualReader) -> KeychainHost.Host {
        let process = ProcessKeychains(
            user.preferences,
            drivers: { [PIVDriver(memory: $0.tokens, certificates: $0.certificates, rejectedPINs: $0.rejectedPINs)] },
            readers: { [reader] })
        return KeychainHost.Host(process, accessGroups: .all, prompter: NoPrompter())
    }
}
