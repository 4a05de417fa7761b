import CryptokiNames
import HostAPI
import KeychainModel
import PKCS11Driver
import SecureBytes
import Synchronization
import SystemCrypto
import Testing
import TokenKit

@testable import KeychainHost

/// Unusual tokens: with their own PIN pad, with PINs that cannot be used any more, without a name.
@Suite struct UnusualTokenTests {
    /// Types a PIN, and counts the questions.
    private final class Typist: Prompter {
        let canAsk: Bool
        let canAskAgain: Bool
        let timesAsked = Mutex(0)

        init(canAsk: Bool = true, canAskAgain: Bool = true) {
            self.canAsk = canAsk
            self.canAskAgain = canAskAgain
        }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
            timesAsked.withLock { $0 += 1 }
            return Secret(copying: [UInt8]("1234".utf8).span)
        }

        func confirm(_ question: String) throws(KeychainError) -> Bool { true }
    }

    /// The error of a signature with the key of a module's token. The tests' modules make no signature that verifies.
    private static func failure(_ behaviour: String, _ authentication: AuthenticationContext) throws -> KeychainError? {
        var failure: KeychainError?
        try ForeignModule.with([behaviour]) { modules in
            let key = try #require(try ModuleKeychain(modules[0]).keys(.name("09")).first)
            do throws(KeychainError) {
                _ = try key.perform(
                    .sign(.rsaPKCS1(.sha256), [UInt8](repeating: 1, count: 32)), use: "test",
                    authentication: authentication)
            } catch {
                failure = error
            }
        }
        return failure
    }

    // MARK: PINs

    @Test func aTokenThatAsksByItselfIsLetAsk() throws {
        let typist = Typist()
        let failure = try Self.failure("has a pinpad", AuthenticationContext(prompter: typist))
        #expect(failure?.reason.contains("does not verify") == true)
        #expect(typist.timesAsked.withLock { $0 } == 0)
    }

    @Test func aTokenThatAsksByItselfDoesNotWhereNobodyIsToBeAsked() throws {
        let failure = try Self.failure("has a pinpad", AuthenticationContext())
        #expect(failure?.code == .interactionNotAllowed)
        #expect(failure?.reason.contains("asks for its PIN by itself") == true)
    }

    @Test func aTokenThatAsksByItselfIsGivenNoPIN() throws {
        let context = AuthenticationContext(prompter: Typist())
        context.setCredential(Secret(copying: [UInt8]("1234".utf8).span), .pin)
        let source = AuthenticationContext(prompter: Typist(canAskAgain: false))
        for context in [context, source] {
            let failure = try Self.failure("has a pinpad", context)
            #expect(failure?.code == .param)
            #expect(failure?.reason.contains("takes none from a program") == true)
        }
    }

    @Test func aWrongPINOnATokensOwnKeysIsNotTypedForEver() throws {
        let failure = try Self.failure("has a pinpad that refuses", AuthenticationContext(prompter: Typist()))
        #expect(failure?.code == .authFailed)
        #expect(failure?.reason.contains("wrong PIN for ") == true)
    }

    @Test(arguments: [("has a blocked PIN", 0), ("blocks the PIN", 1)])
    func aBlockedPINIsUnblockedWithTheTokensOwnTool(behaviour: String, timesAsked: Int) throws {
        let typist = Typist()
        let failure = try Self.failure(behaviour, AuthenticationContext(prompter: typist))
        #expect(failure?.code == .authFailed)
        #expect(failure?.triesLeft == 0)
        #expect(failure?.reason.contains("unblock it with the token's own tool") == true)
        #expect(failure?.reason.contains("card pin unblock") == false)
        #expect(typist.timesAsked.withLock { $0 } == timesAsked)
    }

    @Test func anExpiredPINIsSaidToBeOne() throws {
        let failure = try Self.failure("has an expired PIN", AuthenticationContext(prompter: Typist()))
        #expect(failure?.code == .authFailed)
        #expect(failure?.reason.contains("the PIN has expired (change it with the token's own tool)") == true)
    }

    @Test func nobodyIsAskedForAPINThatIsNotChangedHere() throws {
        let typist = Typist()
        let context = AuthenticationContext(prompter: typist)
        try ForeignModule.with(["well"]) { modules in
            let token = try #require(try ModuleKeychain(modules[0]).tokens().first)
            for change in [
                { try token.change(.pin, authentication: context) }, { try token.unblock(authentication: context) },
            ] {
                #expect { try change() } throws: { "\($0)".contains("use the token's own tool") }
            }
        }
        #expect(typist.timesAsked.withLock { $0 } == 0)
    }

    // MARK: Names and slots

    @Test(arguments: [
        ("well", "pkcs11:token=misbehaving", "misbehaving"), ("says nothing of itself", "pkcs11:token=", "misbehaving"),
        ("has a label in Latin-1", "pkcs11:token=K%FCnstler", "K\u{FFFD}nstler"),
    ])
    func aTokensURIHasItsBytesAndItsLabelIsForPeople(behaviour: String, uri: String, label: String) throws {
        try ForeignModule.with([behaviour]) { modules in
            let identity = try #require(try ModuleKeychain(modules[0]).tokens().first?.identity())
            #expect(identity.id.description == uri)
            #expect(identity.label == label)
            #expect(PKCS11URI(of: PKCS11URI.Token(identity)).description == uri)
        }
    }

    @Test func aSlotThatIsListedTwiceIsOne() throws {
        try ForeignModule.with(["lists a slot three times"]) { modules in
            let keychain = ModuleKeychain(modules[0])
            let (tokens, keys) = (try keychain.tokens(), try keychain.keys(.name("09")))
            #expect(tokens.count == 1)
            #expect(keys.count == 1)
        }
    }

    @Test func aSlotIsKnownByWhatItsModuleCallsIt() throws {
        try ForeignModule.with(["well", "well"]) { modules in
            let slots = try modules.map { try #require(try $0.tokens().first).slot }
            #expect(slots.map(\.cryptokiName.number) == [7, 7])
            // The places of these slots are not known.
            #expect(slots.map(\.cryptokiName.description) == ["", ""])
        }
    }
}
