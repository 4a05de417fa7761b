/// The process of a host, and the programs that it serves.
public struct HostStatus: Sendable, Equatable {
    /// A program that the host serves, as the kernel tells.
    public struct Client: Sendable, Hashable {
        public let process: Int32
        /// The name of the program; empty where it cannot be seen.
        public let program: String
        /// The number of clients that the process is: one for each library of this package that it uses.
        public let count: Int

        public init(process: Int32, program: String, count: Int = 1) {
            self.process = process
            self.program = program
            self.count = count
        }
    }

    public let process: Int32
    /// The version of the host's program, as `tokenctl --version` tells it.
    public let version: String
    /// The start of the process, in seconds since 1970.
    public let start: Int64
    /// The programs, in the order of their processes.
    public let clients: [Client]
    /// The readers with a card whose PIN counts for all programs.
    public let readersWithPIN: [String]
    /// The paths of the keychains that are unlocked in the host.
    public let unlockedKeychains: [String]

    public init(
        process: Int32, version: String, start: Int64, clients: [Client], readersWithPIN: [String] = [],
        unlockedKeychains: [String] = []
    ) {
        self.process = process
        self.version = version
        self.start = start
        self.clients = clients
        self.readersWithPIN = readersWithPIN
        self.unlockedKeychains = unlockedKeychains
    }

    /// The version of this package.
    package static let currentVersion = "0.2.0"
}
