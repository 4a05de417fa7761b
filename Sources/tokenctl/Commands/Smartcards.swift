internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization

struct Smartcards: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "smartcards",
        abstract: "Enable and disable drivers of cards.", subcommands: [Token.self])

    struct Token: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "token",
            abstract: "List, enable or disable drivers.",
            discussion:
                "A driver is named by what stands before the colon of a card's id. Cards of one that is disabled are left alone."
        )

        @Flag(name: .customShort("l"), help: "List the drivers that are disabled.")
        var list = false

        @Option(name: .letter("e"), help: ArgumentHelp("Enable a driver.", valueName: "driver"))
        var enabled: String?

        @Option(name: .letter("d"), help: ArgumentHelp("Disable a driver.", valueName: "driver"))
        var disabled: String?

        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard [list, enabled != nil, disabled != nil].filter({ $0 }).count == 1 else {
                throw ValidationError(localized: "choose one of -l, -e and -d")
            }
        }

        func run() throws {
            let host = try HostAccess().host
            if let name = enabled ?? disabled {
                try Token.check(name, host)
                try host.configureCards(.driver(name, isDisabled: disabled != nil), in: .user, .silent)
                guard output.json else { return }
            }
            let names = try host.cardSettings(.drivers, in: nil, .silent).disabledDrivers
            guard !output.json else { return try Listing.showJSON(names) }
            for name in names { StandardOutput.line("\"\(name)\"", isIndented: true) }
        }

        /// - Throws: where the host has no driver of the name.
        private static func check(_ name: String, _ host: any KeychainService) throws {
            let names = try host.drivers(.silent).map(\.name)
            guard names.contains(name) else {
                throw CommandError("there is no driver '\(name)'", advice: "there is \(names.joined(separator: ", "))")
            }
        }
    }
}
