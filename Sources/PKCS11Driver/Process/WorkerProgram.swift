/// The program that is started as a worker. It calls ``ModuleWorker/run(_:for:)`` with its arguments.
public struct WorkerProgram: Hashable, Sendable {
    /// The program's file, or a name to be looked up in `PATH`.
    public let path: String
    /// The program's arguments, its name first. The module's name or file is appended to them.
    public let arguments: [String]
    /// The variables of its environment, each as `NAME=value`; nil for those of this process.
    public let environment: [String]?

    public init(path: String, arguments: [String], environment: [String]? = nil) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
    }

    /// `tokenkitd`, which serves a module where its arguments ask for it.
    ///
    /// - Parameters:
    ///   - path: its file; by default this process's own.
    ///   - program: the name in p11-kit's configuration of the program that uses the module.
    ///   - environment: the variables of that program, each as `NAME=value`: modules have settings there. Nil for those of this process.
    public static func tokenkitd(
        at path: String = "/proc/self/exe", for program: String, environment: [String]? = nil
    ) -> WorkerProgram {
        WorkerProgram(path: path, arguments: ["tokenkitd", flag, program], environment: environment)
    }

    /// The module that a program with these arguments was started to serve as a worker, and the program that uses it;
    /// nil for a program that was started for another purpose.
    public static func moduleToServe(_ arguments: [String]) -> (module: String, program: String)? {
        arguments.count == 4 && arguments[1] == flag ? (arguments[3], arguments[2]) : nil
    }

    /// The flag with the version of the protocol, since programs of different releases may meet.
    private static let flag = "--serve-module=1"
}

/// The time that a worker may take for an answer, and the time that it is left alone after it gave none.
public struct WorkerPatience: Hashable, Sendable {
    /// The limit of requests that need no person.
    public var listing: Duration
    /// The limit of a login and of a key's use: a person may have to touch the token, or to type on it.
    public var use: Duration
    /// The pause after a worker gave no answer. Most commands end before it; a longer run tries again after it.
    public var rest: Duration

    public init(listing: Duration = .seconds(15), use: Duration = .seconds(60), rest: Duration = .seconds(300)) {
        self.listing = listing
        self.use = use
        self.rest = rest
    }
}
