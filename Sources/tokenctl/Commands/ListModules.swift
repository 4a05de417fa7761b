internal import KeychainModel
internal import ArgumentParser
internal import KeychainHost
internal import PKCS11Driver
internal import TokenKit

struct ListModules: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list-modules", abstract: "List the PKCS#11 modules whose tokens are keychains too.",
        discussion: """
            They are those that p11-kit has configured, or that TOKENKIT_MODULES names, files or p11-kit's names with colons \
            between; 'disable-in: tokenctl' in a module's file leaves it out. Each runs in a process of its own.
            """)

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions

    struct ModuleRow: Row {
        static let columns = ["MODULE", "TOKEN", "SLOT", "NOTE"]
        let module: String
        let path: String?
        let token: String?
        let label: String?
        let slot: String?
        let state: State
        /// The reason why it is not used, as a sentence.
        let reason: String?

        enum State: String, Encodable {
            case usable, empty, failed
            /// The card is read without the module.
            case bypassed
            /// The configuration leaves the module out.
            case leftOut
        }

        var cells: [String] {
            let note =
                switch state {
                case .usable: ""
                case .empty: "no token"
                case .bypassed: "the card is read without it"
                case .failed: reason ?? ""
                case .leftOut: "not used: \(reason ?? "")"
                }
            return [module, label ?? "", slot ?? "", note]
        }
    }

    func run() throws {
        // A module that cannot be used is a row like others.
        let session = try ProcessKeychains(cards).present(locals: false)
        var rows = session.modules.flatMap(rows(of:))
        if cards.module.isEmpty, !Modules.choice.isMade {
            rows += Modules.choice.p11Kit.modules().leftOut.map { module in
                ModuleRow(
                    module: module.name, path: nil, token: nil, label: nil, slot: nil, state: .leftOut,
                    reason: "\(module.reason)")
            }
        }
        try Listing.show(rows, json: output.json)
    }

    private func rows(of module: ModuleKeychain) -> [ModuleRow] {
        let path = (module.module as? PKCS11Module)?.path
        func row(_ state: ModuleRow.State, slot: String? = nil, reason: String? = nil) -> ModuleRow {
            ModuleRow(
                module: module.name, path: path, token: nil, label: nil, slot: slot, state: state, reason: reason)
        }
        do throws(KeychainError) {
            var rows: [ModuleRow] = []
            for token in try module.tokens() {
                guard let identity = try token.identity() else { continue }
                rows.append(
                    ModuleRow(
                        module: module.name, path: path, token: identity.id.description, label: identity.label,
                        slot: token.name, state: .usable, reason: nil))
            }
            rows += try module.sharedReaders().map { row(.bypassed, slot: $0) }
            return rows.isEmpty ? [row(.empty)] : rows
        } catch {
            return [row(.failed, reason: "\(error)")]
        }
    }
}
