/// One element of DER: its tag, its content, and the bytes of both with the length between them.
struct DERElement {
    let tag: UInt8
    let content: ArraySlice<UInt8>
    let encoded: ArraySlice<UInt8>

    /// A reader of the elements inside a constructed element.
    var reader: DERReader { DERReader(content) }
}

/// A cursor over the elements of DER. Bytes of a secret have no place here.
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
        guard element.tag == tag else { throw CryptoError(.malformed, "DER tag") }
        return element
    }

    /// The next element if it has this tag.
    mutating func readOptional(_ tag: UInt8) throws(CryptoError) -> DERElement? {
        nextTag == tag ? try read() : nil
    }

    /// The next element.
    mutating func read() throws(CryptoError) -> DERElement {
        let header = try DERHeader(rest.span)
        let encoded = rest.prefix(header.content.upperBound)
        rest = rest.dropFirst(header.content.upperBound)
        return DERElement(tag: header.tag, content: encoded.dropFirst(header.content.lowerBound), encoded: encoded)
    }

    /// - Throws: `malformed` for bytes that nobody read.
    func finish() throws(CryptoError) {
        guard isAtEnd else { throw CryptoError(.malformed, "DER trailing bytes") }
    }
}
