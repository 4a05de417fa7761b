/// A program that may read an item without a question, as an access of SecKeychain.h names it.
package enum KeychainProgram: Equatable {
    case any
    /// The program that calls.
    case asking
    /// The program in a file, by its path.
    case path([UInt8])
    /// The program of an earlier answer: the path of its file at that time, and bytes that only the host understands.
    case decided(path: [UInt8], identity: [UInt8])

    /// Programs that an access may name.
    package static let maximumCount = 256

    private init(from reader: inout FieldReader) throws(WireError) {
        switch try reader.number() {
        case 1: self = .any
        case 2: self = .asking
        case 3: self = .path(try reader.byteString())
        case 4: self = .decided(path: try reader.byteString(), identity: try reader.byteString())
        default: throw .malformed
        }
    }

    private func write(to writer: inout FieldWriter) {
        switch self {
        case .any: writer.append(UInt64(1))
        case .asking: writer.append(UInt64(2))
        case .path(let path):
            writer.append(UInt64(3))
            writer.append(path)
        case .decided(let path, let identity):
            writer.append(UInt64(4))
            writer.append(path)
            writer.append(identity)
        }
    }

    static func list(from reader: inout FieldReader) throws(WireError) -> [KeychainProgram] {
        var programs: [KeychainProgram] = []
        for _ in 0..<(try reader.count(ofElementsWith: 8)) { programs.append(try KeychainProgram(from: &reader)) }
        return programs
    }

    static func write(_ programs: [KeychainProgram], to writer: inout FieldWriter) {
        writer.append(count: programs.count)
        for program in programs { program.write(to: &writer) }
    }
}
