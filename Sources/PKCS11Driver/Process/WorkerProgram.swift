/// The program that is started as a worker: it is to call ``ModuleWorker/run(_:)`` with the path it is given.
public struct WorkerProgram: Hashable, Sendable {
    public let path: String
    /// The program's arguments, its name first; the module's path comes after them.
    public let arguments: [String]

    public init(path: String, arguments: [String]) {
        self.path = path
        self.arguments = arguments
    }
}

/// How long a worker may take for an answer.
public struct WorkerPatience: Hashable, Sendable {
    /// For what nobody has to do anything for.
    public var listing: Duration
    /// For logging in and using a key: a person may have to touch the token, or to type on it.
    public var use: Duration

    public init(listing: Duration = .seconds(15), use: Duration = .seconds(60)) {
        self.listing = listing
        self.use = use
    }
}
