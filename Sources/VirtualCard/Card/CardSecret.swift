/// Secret bytes inside a virtual card: a PIN, a private key.
///
/// A virtual card does not protect its secrets from its own process, or from readers of its file. This type only keeps
/// them out of logs, test failures and debuggers.
struct CardSecret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether `candidate` is the secret, in a time that does not depend on where they differ.
    func matches(_ candidate: some Collection<UInt8>) -> Bool {
        guard candidate.count == bytes.count else { return false }
        return zip(bytes, candidate).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    var description: String { "[\(bytes.count) bytes]" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
