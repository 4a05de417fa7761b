internal import SecureBytes

// DER with SystemCrypto's errors.

extension TLVReader {
    /// The next element, which must have this tag.
    mutating func read(_ tag: TLVTag) throws(CryptoError) -> TLV {
        let element = try read()
        guard element.tag == tag else { throw CryptoError(TLVError(.missing)) }
        return element
    }

    /// The next element if it has this tag.
    mutating func readOptional(_ tag: TLVTag) throws(CryptoError) -> TLV? {
        remainder.span.nextDERTag == tag ? try read() : nil
    }

    /// The next element.
    mutating func read() throws(CryptoError) -> TLV {
        do throws(TLVError) {
            guard let element = try next() else { throw TLVError(.missing) }
            return element
        } catch {
            throw CryptoError(error)
        }
    }

    /// - Throws: `malformed` for unread bytes.
    func finish() throws(CryptoError) {
        do { try end() } catch { throw CryptoError(error) }
    }
}

extension TLV {
    /// A reader of the elements inside a constructed element.
    var reader: TLVReader {
        get throws(CryptoError) {
            do { return try children() } catch { throw CryptoError(error) }
        }
    }
}

extension Span where Element == UInt8 {
    /// The tag of the next element.
    var nextDERTag: TLVTag? { isEmpty ? nil : TLVTag(rawValue: UInt32(self[0])) }

    /// Takes the content of the next element off the front. For secret DER, of which no array may hold a copy.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    mutating func readDER(_ tag: TLVTag) throws(CryptoError) -> Span<UInt8> {
        do { return try readTLV(tag, .der) } catch { throw CryptoError(error) }
    }

    /// Takes a non-negative INTEGER off the front, most significant byte first.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    mutating func readDERInteger() throws(CryptoError) -> Span<UInt8> {
        let digits = try readDER(DER.Tag.integer)
        guard !digits.isEmpty, digits[0] <= 0x7F else { throw CryptoError(.malformed, "DER integer") }
        return digits
    }
}

extension CryptoError {
    fileprivate init(_ error: TLVError) {
        let part =
            switch error.code {
            case .missing, .tagTooLong, .duplicate: "tag"
            case .trailingBytes: "trailing bytes"
            case .tooDeep: "nesting"
            case .truncated, .indefiniteLength, .lengthTooLong, .lengthNotShortest, .wrongLength: "length"
            }
        self.init(.malformed, "DER \(part)")
    }
}
