internal import ArgumentParser
internal import Glibc
internal import HostAPI
internal import HostConnection
internal import KeychainModel
internal import Localization
internal import Platform

extension Host {
    struct Log: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "log", abstract: "Print which programs used which keys and passwords.",
            discussion: """
                A line for each use, with the program as the system knows it. The host keeps the last 1,000 in its memory, and none of \
                them has a secret. Programs with a host of their own are not in it.
                """)

        @Flag(help: "Go on with each use as it happens, until the interrupt key.")
        var follow = false

        @OptionGroup var output: OutputOptions

        func run() throws {
            guard try HostSession().listener != .none else {
                throw CommandError("there is no log", "no host serves this session")
            }
            let host = try HostConnection.connect()
            var position: UInt64?
            repeat {
                let patience: Duration = position == nil || !follow ? .zero : .seconds(3600)
                let page = try host.journal(after: position, waiting: patience, .silent)
                position = page.next
                if page.isIncomplete { Warnings.show("warning: some uses are missing: there were too many at once") }
                for entry in page.entries {
                    do {
                        try Listing.show(
                            Use(entry), ["\(Clock.text(entry.time / 1000))", entry.line], json: output.json)
                    } catch {
                        Glibc.exit(0)
                    }
                }
            } while follow
        }

        /// A use, as JSON.
        private struct Use: Encodable {
            let time: String
            let program: String
            let process: Int32
            let action: String
            let item: String?
            let keychain: String?
            /// The code of the error; 0 for a use that was done.
            let status: Int32

            init(_ entry: JournalEntry) {
                time = Clock.text(entry.time / 1000)
                (program, process, action) = (entry.program, entry.process, entry.action.name)
                (item, keychain, status) = (entry.item, entry.keychain, entry.failure?.rawValue ?? 0)
            }
        }
    }
}
