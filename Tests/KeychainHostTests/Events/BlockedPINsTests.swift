import Foundation
import PIVDriver
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Watches in the host are told of PINs that were blocked.
@Suite struct BlockedPINsTests {
    @Test(arguments: [CardProfile.generic, .yubiKey57])
    func onlyTheLastTryThatIsLostIsTold(profile: CardProfile) throws {
        let told = Told()
        let reader = VirtualReader(name: "Reader", card: try TestCard(profile: profile, pinTries: 2).make())
        let slot = TokenSlot(
            reader: reader, drivers: [PIVDriver()],
            tellingOfBlockedPINs: {
                told.put(KeychainEvent(.pinBlocked, location: $0))
            })
        func verify(_ pin: String) {
            let context = AuthenticationContext(prompter: AnswersByScript(pin), lastTry: .spend)
            #expect(throws: KeychainError(.authFailed)) { try TokenKeychain(slot).verifyPIN(authentication: context) }
        }
        verify("000000")
        #expect(told.all.isEmpty)
        verify("111111")
        #expect(told.all.map(\.location) == ["Reader"])
        // A program that finds the PIN blocked has not blocked it.
        verify("222222")
        slot.disconnect(resetting: true)
        verify("222222")
        #expect(told.all.count == 1)
    }

    @Test func aProcessThatKeepsKeychainsTellsOnce() throws {
        let inbox = EventInbox()
        inbox.open()
        defer { inbox.close() }
        let user = try TestUser()
        let reader = VirtualReader(name: "Reader of \(UniqueID())", card: try TestCard(pinTries: 1).make())
        let process = ProcessKeychains(user.preferences) { _ in
            [PIVDriver()]
        } readers: {
            [reader]
        }
        let context = AuthenticationContext(prompter: AnswersByScript("000000"), lastTry: .spend)
        let token = try #require(try process.present(locals: false).tokens.first)
        #expect(throws: KeychainError(.authFailed)) { try token.verifyPIN(authentication: context) }
        #expect(inbox.take().filter { $0.location == reader.name }.map(\.process) == [getpid()])
    }
}
