import Localization
import Testing

@testable import KeychainModel

@Suite struct OutcomeTests {
    private let damaged = Missing(inFile: "login", KeychainError(.decode, "altered"))
    private let unrelated = Missing(.unrelatedDamagedItem, in: .file, of: "login", KeychainError(.decode, "another"))
    private let held = Missing(.heldCard, in: .card, of: "Reader", KeychainError(.notAvailable, "in use"))

    @Test(arguments: [
        (ErrSec.decode, Missing.Kind.damagedItem), (.invalidKeychain, .damagedKeychain),
        (.notAvailable, .unreadableKeychain), (.noAccessForItem, .unreadableKeychain),
    ])
    func whatAFileLacksIsToldByItsError(code: ErrSec, kind: Missing.Kind) {
        let gap = Missing(inFile: "login", KeychainError(code))
        #expect(gap.kind == kind && gap.place == .file && gap.keychain == "login")
    }

    /// Errors are equal as soon as their codes are.
    @Test func gapsAreEqualWhereTheySayTheSame() {
        #expect(damaged == Missing(inFile: "login", KeychainError(.decode, "altered")))
        #expect(damaged != Missing(inFile: "login", KeychainError(.decode, "another")))
        #expect(damaged != Missing(inFile: "work", damaged.error))
        #expect(damaged != Missing(.damagedItem, in: .card, of: "login", damaged.error))
        #expect(damaged != Missing(.damagedKeychain, in: .file, of: "login", damaged.error))
    }

    @Test func aGapThatTwoSearchesMeetIsOne() {
        var outcome = Outcome([1], missing: [damaged])
        outcome.add(missing: [held, damaged])
        #expect(outcome.missing == [damaged, held])
    }

    @Test func anAnswerIsCompleteBesidesWhatIsKnownAndWhatIsUnrelated() throws {
        #expect(try Outcome([1], missing: [unrelated, held]).complete(besides: [held]) == [1])
        #expect(throws: KeychainError(.notAvailable)) {
            try Outcome([1], missing: [unrelated, held]).complete(besides: [])
        }
    }

    @Test func theDamageThatCountsIsThatOfAnItemThatMayBeMeant() {
        let onCard = Missing(.damagedItem, in: .card, of: "Reader", KeychainError(.decode, "bad certificate"))
        #expect(Outcome(0, missing: [unrelated, held, onCard]).damage == nil)
        #expect(Outcome(0, missing: [onCard, damaged]).damage?.reason == "altered")
    }

    @Test func whoFindsNothingIsToldOfEachGap() {
        let error = KeychainError.notFound("no key matches", besides: [held, unrelated])
        #expect(error.code == .itemNotFound)
        #expect(error.reason == "no key matches; 'Reader' could not be searched: in use; 'login': another")
    }
}
