internal import SecureBytes
package import TokenKit

/// What the parsers of data objects have in common.
package enum PIVFormat {
    /// Runs a parser, and says which object broke its format where it throws.
    static func parsing<Value>(
        _ object: String, _ body: () throws(TLVError) -> Value
    ) throws(TokenError) -> Value {
        do { return try body() } catch { throw malformed(object, error.description) }
    }

    static func malformed(_ object: String, _ why: String) -> TokenError {
        TokenError(.malformed, "the card's \(object) is malformed: \(why)")
    }

    /// The content of what GET DATA returned for an object, or nil where the card says by an empty one that there is
    /// none.
    ///
    /// Bytes after the object are passed over, and a missing tag `53` is no fault: cards do both.
    package static func content(of data: [UInt8], in container: PIVContainer) throws(TokenError) -> [UInt8]? {
        let content = try parsing(container.title) { () throws(TLVError) -> [UInt8] in
            var reader = TLVReader(data)
            guard let outer = try reader.next() else { return [] }
            return outer.tag == (container.isBare ? container.tag : 0x53) ? outer.value : data
        }
        return content.isEmpty ? nil : content
    }

    /// What the beginning of an answer to GET DATA tells of an object.
    ///
    /// Only an object in its outer tag says how long it is; of another there may always be more.
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

    /// Printable ASCII of text that a card wrote; what is not becomes a question mark.
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
    /// The data objects that follow, the first of each tag: no order is relied upon.
    mutating func fields() throws(TLVError) -> [TLVTag: [UInt8]] {
        var fields: [TLVTag: [UInt8]] = [:]
        while let field = try next() {
            if fields[field.tag] == nil { fields[field.tag] = field.value }
        }
        return fields
    }
}
