package import SecureBytes
package import TokenKit

/// The answer to GENERAL AUTHENTICATE. SP 800-73-5 part 2 §3.2.4 and table 7.
///
///     7C { 82 response }
package enum AuthenticationResponse {
    /// Extracts the response, without a copy in memory that is not wiped.
    package static func parse(_ answer: borrowing Secret) throws(TokenError) -> Secret {
        let bytes = answer.bytes
        guard let template = content(of: 0x7C, in: bytes), let response = content(of: 0x82, in: template),
            !response.isEmpty
        else { throw PIVFormat.malformed("answer to GENERAL AUTHENTICATE", "7C and 82 do not make up all of it") }
        return Secret(copying: response)
    }

    /// The value of the only data object in `bytes`; nil for another tag, or where more bytes follow.
    @_lifetime(copy bytes)
    private static func content(of tag: TLVTag, in bytes: Span<UInt8>) -> Span<UInt8>? {
        var rest = bytes
        guard let value = try? rest.readTLV(tag, .card), rest.isEmpty else { return nil }
        return value
    }
}
