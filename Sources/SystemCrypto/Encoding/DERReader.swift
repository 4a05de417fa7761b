/// One element of DER: its tag, its content, and the bytes of both with the length between them.
struct DERElement {
    let tag: UInt8
    let content: ArraySlice<UInt8>
    let encoded: ArraySlice<UInt8>

    /// A reader of the elements inside a constructed element.
    var reader: DERReader { DERReader(content) }
}

/// A cursor over the elements of DER, X.690 §10: definite, shortest lengths only. Bytes of a secret have no place here.
struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    /// Whether all was read.
    var isAtEnd: Bool { rest.isEmpty }

    /// The tag of the next element.
    var nextTag: UInt8? { rest.first }

    /// The next element, which must have this tag.
    mutating func read(_ tag: UInt8) throws(CryptoError) -> DERElement {
        let element = try read()
        guard element.tag == tag else { throw malformed("DER tag") }
        return element
    }

    /// The next element if it has this tag.
    mutating func readOptional(_ tag: UInt8) throws(CryptoError) -> DERElement? {
        nextTag == tag ? try read() : nil
    }

    /// The next element.
    mutating func read() throws(CryptoError) -> DERElement {
        let start = rest
        // Tags of more than one byte do not occur in X.509.
        guard let tag = rest.popFirst(), tag & 0x1F != 0x1F else { throw malformed("DER tag") }
        let length = try readLength()
        guard length <= rest.count else { throw malformed("DER length") }
        let content = rest.prefix(length)
        rest = rest.dropFirst(length)
        return DERElement(tag: tag, content: content, encoded: start.prefix(start.count - rest.count))
    }

    /// - Throws: `malformed` for bytes that nobody read.
    func finish() throws(CryptoError) {
        guard isAtEnd else { throw malformed("DER trailing bytes") }
    }

    private mutating func readLength() throws(CryptoError) -> Int {
        guard let first = rest.popFirst() else { throw malformed("DER length") }
        guard first > 0x7F else { return Int(first) }
        let count = Int(first & 0x7F)
        guard 1...4 ~= count, count <= rest.count, rest.first != 0 else { throw malformed("DER length") }
        let length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(count)
        guard length > 0x7F else { throw malformed("DER length") }
        return length
    }

    private func malformed(_ operation: String) -> CryptoError { CryptoError(.malformed, operation) }
}
