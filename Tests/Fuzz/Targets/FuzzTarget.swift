internal import TokenKit

/// Code that reads bytes which an attacker chooses, and what must hold whatever they are.
///
/// An input that is refused is fine. One that is accepted has to come out again as it went in, and nothing may trap.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case tlv
    case command
    case response

    /// Runs the code on an input.
    ///
    /// - Throws: ``Finding`` where what must hold does not.
    public func run(_ input: [UInt8]) throws(Finding) {
        switch self {
        case .tlv: try roundTrip(input) { try? tree($0) }
        case .command:
            try roundTrip(input) { (try? CommandAPDU.parse($0)).flatMap { try? $0.command.encoded($0.form) } }
        case .response: try roundTrip(input) { (try? ResponseAPDU(parsing: $0))?.encoded() }
        }
    }

    /// What an input came out as.
    public struct Finding: Error, CustomStringConvertible {
        /// The input and the output.
        public let description: String
    }

    private func roundTrip(_ input: [UInt8], _ readAndWrite: ([UInt8]) -> [UInt8]?) throws(Finding) {
        guard let output = readAndWrite(input), output != input else { return }
        throw Finding(description: "\(self): \(Hex.encode(input)) came out as \(Hex.encode(output))")
    }

    /// Reads data objects, and those inside of constructed ones, and writes them again.
    private func tree(_ bytes: [UInt8]) throws(TLVError) -> [UInt8] {
        var reader = TLVReader(bytes)
        var written: [UInt8] = []
        for object in try reader.all() {
            if object.tag.octets[0] & 0x20 != 0 { try descend(object) }
            written += object.encoded()
        }
        return written
    }

    private func descend(_ object: TLV) throws(TLVError) {
        var children = try object.children()
        for child in try children.all() where child.tag.octets[0] & 0x20 != 0 { try descend(child) }
    }
}
