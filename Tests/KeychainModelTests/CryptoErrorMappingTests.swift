import KeychainModel
import SystemCrypto
import Testing

@Suite struct CryptoErrorMappingTests {
    @Test(
        arguments: zip(
            CryptoError.Code.allCases,
            [
                ErrSec.decode, .invalidAlgorithm, .param, .decode, .passphraseRequired, .authFailed, .decode, .decode,
                .internalError,
            ]))
    func codesOfTheCryptographicLibraryBecomeCodesOfTheKeychain(code: CryptoError.Code, expected: ErrSec) {
        let error = KeychainError(CryptoError(code, "opening"))
        #expect(error.code == expected, "\(code)")
        #expect(error.reason.hasPrefix("opening"))
    }
}
