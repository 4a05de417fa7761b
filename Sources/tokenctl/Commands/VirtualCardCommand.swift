internal import Localization
internal import Platform
internal import ArgumentParser
internal import SecureBytes
internal import VirtualCard

struct VirtualCardCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "virtual-card", abstract: "Make and run a PIV card in software, for tests and trials.",
        subcommands: [
            Create.self, Profiles.self, Run.self, Insert.self, Remove.self, Touch.self, Fault.self, Status.self,
            Stop.self,
        ])

    struct SocketOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp("The socket over which the card takes orders.", valueName: "path"), completion: .file())
        var socket: String?

        var path: String { socket ?? Directories.own.virtualCardSocket }
    }

    /// The card that gets an order, and the form of the report.
    struct OrderOptions: ParsableArguments {
        @OptionGroup var socket: SocketOptions
        @OptionGroup var output: OutputOptions

        func send(_ order: ControlOrder) throws {
            try VirtualCardControl.send(order, to: socket.path)
            if output.json { try Listing.showJSON(["order": order.line]) }
        }
    }

    struct Profiles: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "profiles",
            abstract: "List the kinds of card there are, and in what they differ.")

        @OptionGroup var output: OutputOptions

        struct ProfileRow: Row {
            static let columns: [LocalizedKey] = ["PROFILE", "FIRMWARE", "PROTOCOL", "QUIRKS"]
            let name: String
            let answerToReset: String
            let applicationLabel: String?
            let firmware: String?
            let transmissionProtocol: String
            let takesExtendedLength: Bool
            let algorithms: [String]
            let quirks: [String]

            var cells: [String] {
                let length = takesExtendedLength ? "extended" : "short"
                return [name, firmware ?? "", "\(transmissionProtocol) \(length)", quirks.joined(separator: " ")]
            }

            init(_ profile: CardProfile) {
                name = profile.name
                answerToReset = Hex.encode(profile.atr)
                applicationLabel = profile.label
                firmware = profile.firmware?.description
                transmissionProtocol = profile.transport.transmissionProtocol == .t0 ? "T=0" : "T=1"
                takesExtendedLength = profile.transport.takesExtendedLength
                algorithms = profile.algorithms.sorted { $0.rawValue < $1.rawValue }.map { "\($0)" }
                quirks = profile.quirks.map(\.rawValue).sorted()
            }
        }

        func run() throws {
            try Listing.show(CardProfile.all.map(ProfileRow.init), json: output.json)
        }
    }

    struct Run: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "run",
            abstract: "Put a card into the reader of vpcd, and keep it there.",
            discussion: "The reader is the one of Debian's package vsmartcard-vpcd, on this machine.")

        @Argument(help: "The card's file.", completion: .file())
        var file: String

        @Option(help: "The port where vpcd listens.")
        var port = VPCDLink.defaultPort

        @Option(
            help: ArgumentHelp(
                "Milliseconds that each command takes: those of real cards take 10 to 50.", valueName: "milliseconds"))
        var delay = 0

        @Flag(help: "Leave the card out until it is inserted by order.")
        var removed = false

        @OptionGroup var socket: SocketOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard 0...10_000 ~= delay else { throw ValidationError(localized: "--delay takes 0 to 10000 milliseconds") }
        }

        func run() throws {
            let card = try VirtualCard(file: file)
            if socket.socket == nil { try HostAccess.makeFolderOfSockets() }
            if output.json { try Listing.show(["file": file, "socket": socket.path], [], json: true) }
            let server = try VirtualCardServer(
                card: card, controlPath: socket.path, port: port, delay: .milliseconds(delay))
            try server.run(inserted: !removed) { [port, areWanted = Warnings.areWanted] in
                guard areWanted else { return }
                printError(
                    "waiting for vpcd at 127.0.0.1:\(port), where nothing listens (is pcscd running, with vpcd?)")
            }
        }
    }

    struct Insert: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "insert", abstract: "Insert the running card.")
        @OptionGroup var options: OrderOptions
        func run() throws { try options.send(.insert) }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "remove", abstract: "Take the running card out.")
        @OptionGroup var options: OrderOptions
        func run() throws { try options.send(.remove) }
    }

    struct Touch: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "touch", abstract: "Touch the running card.")
        @OptionGroup var options: OrderOptions
        func run() throws { try options.send(.touch) }
    }

    struct Stop: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "stop", abstract: "End the running card.")
        @OptionGroup var options: OrderOptions
        func run() throws { try options.send(.stop) }
    }

    struct Fault: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "fault",
            abstract: "Have the running card fail.",
            discussion: """
                The fault is one of: delay MILLISECONDS, drop, reset, remove, status SW, truncate BYTES, \
                oversize BYTES; or clear, which calls off all of them.
                """)

        @Argument(help: "The fault and its value.")
        var fault: [String]

        @Option(help: "How many commands come before it.")
        var at = 0

        @OptionGroup var options: OrderOptions

        func run() throws {
            if fault == ["clear"] { return try options.send(.clearFaults) }
            guard let fault = CardFault(parsing: fault) else {
                throw CommandError(
                    "'\(fault.joined(separator: " "))' is not a fault",
                    advice: "see 'tokenctl virtual-card fault --help'")
            }
            try options.send(.fault(fault, at: at))
        }
    }

    struct Status: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show how the running card stands.")

        @OptionGroup var socket: SocketOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let fields = try VirtualCardControl.send(.status, to: socket.path)
            if output.json {
                return try Listing.showJSON(Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first })
            }
            for field in fields { StandardOutput.line("\(field.name): \(field.value)") }
        }
    }
}
