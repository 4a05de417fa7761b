package import KeychainModel
internal import Localization
package import SecureBytes

extension Secret {
    /// A copy of a secret that the caller of a C function keeps.
    ///
    /// - Throws: `errSecParam` for a length without an address.
    @unsafe package init(callers bytes: UnsafeRawPointer?, length: UInt32) throws(KeychainError) {
        guard let start = unsafe bytes?.assumingMemoryBound(to: UInt8.self) else {
            guard length == 0 else { throw KeychainError(.param, "the password is missing, and its length is given") }
            self.init(capacity: 0) { _ in }
            return
        }
        unsafe self.init(copying: Span(_unsafeStart: start, count: Int(length)))
    }
}
