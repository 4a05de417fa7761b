import KeychainModel
import Localization
import Testing

@testable import HostAPI

/// A host that gives one answer to every request.
@Suite struct WireServiceTests {
    private let context = RequestContext()
    private let keychain = KeychainIdentifier(rawValue: "local:1")

    private func service(_ answer: HostAnswer) -> WireService { WireService { _, _ in answer } }

    @Test func anAnswerOfTheRequestsKindIsItsValue() throws {
        let secret = MessageSamples.secret("s3cret")
        #expect(try service(.secret(secret)).secret(of: MessageSamples.local, context) == secret)
        #expect(try service(.secret(nil)).secret(of: MessageSamples.local, context) == nil)
        #expect(try service(.secret(secret)).exportFile(ExportRequest([], as: .x509), context) == secret)
        #expect(try service(.locked(missing: [])).lock(keychain, context).isEmpty)
        try service(.done).deleteKeychain("old", context)
    }

    @Test func anAnswerOfAnotherKindIsAnError() throws {
        let error = KeychainError(.internal)
        #expect(throws: error) { try service(.secret(nil)).exportFile(ExportRequest([], as: .x509), context) }
        #expect(throws: error) { try service(.done).secret(of: MessageSamples.local, context) }
        // The values of these two kinds have one type.
        #expect(throws: error) { try service(.damage([])).lock(keychain, context) }
        #expect(throws: error) {
            try service(.locked(missing: [])).damage(matching: Query(MessageSamples.local), context)
        }
        #expect(throws: error) { try service(.path("login")).deleteKeychain("old", context) }
        #expect(throws: error) { try service(.boundCards([])).bind(keychain, to: keychain, key: nil, context) }
    }

    @Test func anErrorOfTheHostIsThrown() {
        let error = KeychainError(.authFailed, "wrong PIN")
        #expect(throws: error) { try service(.failed(error)).deleteKeychain("old", context) }
        #expect(throws: error) { try service(.failed(error)).path(ofKeychain: "login", context) }
    }
}
