internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization

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
        static let columns: [LocalizedKey] = ["MODULE", "TOKEN", "SLOT", "NOTE"]
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
            let note: LocalizedText =
                switch state {
                case .usable: ""
                case .empty: "no token"
                case .bypassed: "the card is read without it"
                case .failed: "\(reason ?? "")"
                case .leftOut: "not used: \(reason ?? "")"
                }
            return [module, label ?? "", slot ?? "", String(localized: note)]
        }
    }

    func run() throws {
        // A module that cannot be used is a row like others.
        let modules = try HostAccess(cards).host.modules(.silent)
        try Listing.show(modules.flatMap(ListModules.rows(of:)), json: output.json)
    }

    private static func rows(of module: ModuleDescription) -> [ModuleRow] {
        func row(
            _ state: ModuleRow.State, _ token: ModuleDescription.Token? = nil, slot: String? = nil,
            reason: String? = nil
        ) -> ModuleRow {
            ModuleRow(
                module: module.name, path: module.path, token: token?.identifier.rawValue, label: token?.label,
                slot: token?.slot ?? slot, state: state, reason: reason)
        }
        switch module.state {
        case .used(let tokens, let readers):
            let rows = tokens.map { row(.usable, $0) } + readers.map { row(.bypassed, slot: $0) }
            return rows.isEmpty ? [row(.empty)] : rows
        case .failed(let error): return [row(.failed, reason: "\(error)")]
        case .leftOut(let reason): return [row(.leftOut, reason: reason)]
        }
    }
}
