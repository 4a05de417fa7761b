internal import SecureBytes
package import TokenKit

/// The common parts of the parsers of data objects.
package enum PIVFormat {
    /// Runs a parser, and names the object in its error.
    static func parsing<Value>(
        _ object: String, _ body: () throws(TLVError) -> Value
    ) throws(TokenError) -> Value {
        do { return try body() } catch { throw malformed(object, "\(error)") }
    }

    static func malformed(_ object: String, _ why: LocalizedText) -> TokenError {
        TokenError(.malformed, "the card's \(object) is malformed: \(why)")
    }

    /// The content of an object from the answer to GET DATA; nil for an empty one, which means an absent object.
    ///
    /// Bytes after the object are ignored, and the tag `53` may be missing, since cards do both.
    package static func content(of data: [UInt8], in container: PIVContainer) throws(TokenError) -> [UInt8]? {
        let content = try parsing(container.title) { () throws(TLVError) -> [UInt8] in
            var reader = TLVReader(data)
            guard let outer = try reader.next() else { return [] }
            return outer.tag == (container.isBare ? container.tag : 0x53) ? outer.value : data
        }
        return content.isEmpty ? nil : content
    }

    /// The finding about an object from the beginning of an answer to GET DATA.
    ///
    /// Only an object with its outer tag tells its length. Of any other object there may be more.
    static func finding(in beginning: [UInt8], of container: PIVContainer) -> TokenDataFinding {
        var reader = TLVReader(beginning)
        do {
            guard let outer = try reader.next() else { return .absent }
            guard outer.tag == (container.isBare ? container.tag : 0x53) else { return .present }
            return outer.value.isEmpty ? .absent : .whole(outer.value)
        } catch {
            return .present
        }
    }

    /// The text of a card as printable ASCII, with a question mark for every other byte.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        var text = ""
        for byte in bytes {
            text.unicodeScalars.append((0x20..<0x7F).contains(byte) ? Unicode.Scalar(byte) : "?")
        }
        while text.last == " " { text.removeLast() }
        return text
    }
}

extension TLVReader {
    /// The data objects that follow, in any order; of repeated tags the first.
    mutating func fields() throws(TLVError) -> [TLVTag: [UInt8]] {
        var fields: [TLVTag: [UInt8]] = [:]
        while let field = try next() {
            if fields[field.tag] == nil { fields[field.tag] = field.value }
        }
        return fields
    }
}
