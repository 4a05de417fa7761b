/// The program that is started as a worker: it is to call ``ModuleWorker/run(_:)`` with what it is given.
public struct WorkerProgram: Hashable, Sendable {
    /// Its file, or a name to be looked up in `PATH`.
    public let path: String
    /// The program's arguments, its name first; what tells which module it is comes after them.
    public let arguments: [String]

    public init(path: String, arguments: [String]) {
        self.path = path
        self.arguments = arguments
    }

    /// `tokenctl`, which serves a module where it is asked to.
    ///
    /// - Parameters:
    ///   - path: its file, or a name to be looked up in `PATH`.
    ///   - program: what p11-kit's configuration calls the program that uses the module.
    public static func tokenctl(at path: String, for program: String = "tokenctl") -> WorkerProgram {
        WorkerProgram(path: path, arguments: ["tokenctl", flag, program])
    }

    /// What a program with these arguments was started for as a worker: a module, and the program that uses it; nil where it was
    /// started for anything else.
    public static func moduleToServe(_ arguments: [String]) -> (module: String, program: String)? {
        arguments.count == 4 && arguments[1] == flag ? (arguments[3], arguments[2]) : nil
    }

    /// With the version of what is said over the socket, since programs of different releases may meet.
    private static let flag = "--serve-module=1"
}

/// How long a worker may take for an answer, and how long it is left alone after it gave none.
public struct WorkerPatience: Hashable, Sendable {
    /// For what nobody has to do anything for.
    public var listing: Duration
    /// For logging in and using a key: a person may have to touch the token, or to type on it.
    public var use: Duration
    /// The rest of the run, for a command; what runs on tries again after it.
    public var rest: Duration

    public init(listing: Duration = .seconds(15), use: Duration = .seconds(60), rest: Duration = .seconds(300)) {
        self.listing = listing
        self.use = use
        self.rest = rest
    }
}
