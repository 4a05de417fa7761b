import SecureBytes
import SystemCrypto
import Testing

/// Bytes written in hexadecimal; white space is passed over.
func hex(_ text: String) -> [UInt8] {
    guard let bytes = Hex.decode(text) else {
        Issue.record("not hexadecimal: \(text)")
        return []
    }
    return bytes
}

/// The bytes of a text.
func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A secret of bytes that a test knows.
func secret(_ bytes: [UInt8]) -> Secret { Secret(copying: bytes.span) }

/// A secret of a text that a test knows.
func secret(_ text: String) -> Secret { secret(utf8(text)) }

/// A secret's bytes, to compare them.
func reveal(_ secret: borrowing Secret) -> [UInt8] {
    let bytes = secret.bytes
    return bytes.indices.map { bytes[$0] }
}

/// The bytes with one bit of one byte turned.
func flipping(_ bytes: [UInt8], at index: Int) -> [UInt8] {
    var bytes = bytes
    bytes[index] ^= 0x01
    return bytes
}

/// The code of the error that `body` throws, nil if it throws none.
func errorCode(of body: () throws(CryptoError) -> Void) -> CryptoError.Code? {
    do {
        try body()
        return nil
    } catch {
        return error.code
    }
}
