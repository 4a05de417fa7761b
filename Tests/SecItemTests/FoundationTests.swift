import Foundation
import SecItem
import TestSupport
import Testing

/// Errors, as code for Apple's platforms takes them for Foundation's.
@Suite struct FoundationTests {
    /// Nothing escapes the pattern, so that the function need not throw.
    private func caught() -> NSError {
        do {
            var error: Unmanaged<CFError>?
            _ = SecKeyCreateRandomKey([:] as CFDictionary, &error)
            throw error!.takeRetainedValue() as any Error
        } catch let error as NSError {
            return error
        }
    }

    @Test func anErrorThatIsThrownIsCaughtAsFoundations() {
        let error = caught()
        #expect(error.code == Int(errSecParam))
        #expect(error.domain == NSOSStatusErrorDomain)
        #expect(error.localizedDescription.contains("the type of the key is missing"))
        #expect((error as any Error).localizedDescription == error.localizedDescription)
    }

    @Test func anErrorTellsItsCodeItsDomainAndWhy() {
        let error: CFError = caught()
        #expect(CFErrorGetCode(error) == Int(errSecParam))
        #expect(CFErrorGetDomain(error) == kCFErrorDomainOSStatus)
        #expect(CFErrorCopyDescription(error) as String == error.localizedDescription)
    }

    @Test func aStatusMakesAnErrorOfFoundationsDomain() {
        let error = NSError(domain: NSOSStatusErrorDomain, code: Int(errSecItemNotFound))
        #expect(CFErrorGetDomain(error) == "NSOSStatusErrorDomain")
    }
}
