internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SSHAgent
internal import SecureBytes
internal import SystemCrypto

extension SSH {
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a private key in a file.",
            discussion: """
                Takes a private key in OpenSSH's format, PKCS#8, PKCS#1 or SEC 1, and asks for its passphrase. The key is in the host's \
                memory until the host ends or 'ssh-add -d' removes it; with --keep it is in the default keychain, from which the \
                agent offers it also after a restart.
                """)

        @Argument(help: "The file; - for standard input.", completion: .file())
        var file: String

        @Flag(help: "Import the key into the default keychain.")
        var keep = false

        @OptionGroup var output: OutputOptions
        @OptionGroup var authentication: AuthenticationOptions

        private struct Added: Encodable {
            let comment: String
            let fingerprint: String
            /// The keychain that keeps the key; nil for one in the host's memory.
            let keychain: String?
        }

        func run() throws {
            let input = try Input(file)
            var bytes = try input.whole(limit: ImportRequest.maximumLength)
            let content = try read(SharedSecret(Secret(consuming: &bytes)), named: input.name)
            let key = try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: content.secret) }
            let blob = try KeychainError.mapping { () throws(CryptoError) in try key.publicKey.openSSH() }
            let keychain = keep ? try importKey(content, named: input.name) : nil
            if !keep { try add(key, named: input.name) }
            let fingerprint = AgentAnswer.fingerprint(of: blob)
            guard !output.json else {
                return try Listing.showJSON(Added(comment: input.name, fingerprint: fingerprint, keychain: keychain))
            }
            StandardOutput.line(
                localized: keychain.map { "The key \(fingerprint) is kept in \(DisplayText.line($0))." }
                    ?? "The key \(fingerprint) is added until the host ends.")
        }

        /// The private key of a file, in PKCS#8.
        private func read(_ file: SharedSecret, named name: String) throws -> SharedSecret {
            var request = ImportRequest(file, named: name)
            (request.kind, request.passphrase, request.refusesSeveralKeys) = (.priv, .asked, true)
            let content = try authentication.host(HostAccess(), for: []).importFile(request, authentication.request)
            guard case .objects(_, _, let keys) = content.content, let key = keys.first else {
                throw KeychainError(.itemNotFound, "there is no private key in '\(DisplayText.line(name))'")
            }
            return key
        }

        private func add(_ key: PrivateKey, named name: String) throws {
            let message = try KeychainError.mapping { () throws(CryptoError) in
                SharedSecret(try AgentRequest.addition(of: key, comment: name))
            }
            guard try answer(to: message.secret) == .success else {
                throw CommandError(
                    "the key was not added", "the agent is locked, has too many keys, or takes none so short")
            }
        }

        private func answer(to message: borrowing Secret) throws -> AgentAnswer { try SSH.answer(to: message.bytes) }

        /// - Returns: the place of the keychain.
        private func importKey(_ pkcs8: SharedSecret, named name: String) throws -> String {
            let named = try NamedKeychain(file: nil)
            var target = ImportRequest.Target(named.identifier)
            target.keys[.label] = .string(name)
            var request = ImportRequest(pkcs8, named: name)
            (request.kind, request.target) = (.priv, target)
            _ = try authentication.host(named.access, for: []).importFile(request, authentication.request)
            return named.description.location
        }
    }
}
