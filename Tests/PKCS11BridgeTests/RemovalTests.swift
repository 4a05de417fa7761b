import CCryptoki
import CryptokiNames
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PKCS11Bridge
@testable import VirtualCard

/// Cards that are taken out, put back and exchanged while programs have sessions.
@Suite struct RemovalTests {
    private static let digest = [UInt8](repeating: 0x5A, count: 32)
    private static let ecdsa = MechanismRequest(CKM_ECDSA)

    @Test func whileTheCardIsOutItsSessionsSaySo() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let slot = module.slots[0]
        let session = try module.session(loggedIn: true)
        module.reader.remove()
        #expect(module.slots.isEmpty)
        #expect(returned { _ = try module.find(session) } == CKR_DEVICE_REMOVED)
        #expect(returned { _ = try module.cryptoki.tokenInfo(slot) } == CKR_TOKEN_NOT_PRESENT)
        #expect(
            returned { _ = try module.cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION) } == CKR_TOKEN_NOT_PRESENT)
        #expect(try module.cryptoki.slotInfo(slot).flags & CKF_TOKEN_PRESENT == 0)
    }

    @Test func sessionsAndHandlesGoOnWhenTheSameCardIsPutBackAndTheLoginDoesNot() throws {
        let card = try Cards.plain()
        let module = try TestModule(VirtualReader(card: card))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        module.reader.remove()
        module.reader.insert(card)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).count == 4)
        #expect(try module.cryptoki.sessionInfo(session).state == CKS_RW_PUBLIC_SESSION)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(try module.sign(session, Self.ecdsa, key, Self.digest).count == 64)
    }

    /// Certificates are renewed, and keys made, where the card is meanwhile.
    @Test func whatWasWrittenToACardWhileItWasOutIsFound() throws {
        var builder = VirtualCardBuilder(profile: .generic, fourKeys: .p256)
        builder.guid = [UInt8](repeating: 0x17, count: 16)
        let module = try TestModule(VirtualReader(card: try builder.build()))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session()
        func certificate() throws -> [UInt8] {
            let template = [(CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE)), (CKA_ID, [1])]
            return try module.value(session, #require(module.find(session, template[0], template[1]).first), CKA_VALUE)
        }
        let former = try certificate()
        module.reader.remove()
        module.reader.insert(try builder.build())
        #expect(try certificate() != former)
    }

    /// They have one identifier.
    @Test func anotherBlankCardIsNotTakenForTheFormer() throws {
        var builder = VirtualCardBuilder(profile: .generic)
        builder.keys[.keyManagement] = .init(.p256)
        func blank() throws -> VirtualCard {
            var contents = try builder.build().contents
            contents.objects[DataObject.cardholderIdentifier] = nil
            return VirtualCard(profile: .generic, contents: contents)
        }
        let module = try TestModule(VirtualReader(card: try blank()))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session()
        let former = try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE)))
        #expect(former.count == 1)
        module.reader.remove()
        module.reader.insert(try blank())
        #expect(returned { _ = try module.find(session) } == CKR_SESSION_HANDLE_INVALID)
        let next = try module.session()
        #expect(try module.find(next, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).count == 1)
    }

    @Test func sessionsGoOnAlsoOfAProgramThatNeverAskedWhichCardItIs() throws {
        let card = try Cards.plain()
        let module = try TestModule(VirtualReader(card: card))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        module.reader.remove()
        #expect(returned { _ = try module.sign(session, Self.ecdsa, key, Self.digest) } == CKR_DEVICE_REMOVED)
        module.reader.insert(card)
        #expect(try module.cryptoki.sessionInfo(session).state == CKS_RW_PUBLIC_SESSION)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(try module.sign(session, Self.ecdsa, key, Self.digest).count == 64)
    }

    /// Makes two secret keys, the first one with `CKA_PRIVATE`.
    private func secrets(_ module: TestModule, _ session: CK_SESSION_HANDLE) throws -> (
        CK_OBJECT_HANDLE, CK_OBJECT_HANDLE
    ) {
        func create(_ isPrivate: Bool) throws -> CK_OBJECT_HANDLE {
            try module.cryptoki.createObject(
                session,
                Template([
                    (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_VALUE, [1, 2, 3]),
                    (CKA_PRIVATE, Encoded.bool(isPrivate)),
                ]))
        }
        return (try create(true), try create(false))
    }

    @Test(arguments: [true, false])
    func whatIsTheUsersAloneEndsWithALoginThatTheCardEnded(isTakenOut: Bool) throws {
        let card = try Cards.plain()
        let module = try TestModule(VirtualReader(card: card))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        let (own, open) = try secrets(module, session)
        if isTakenOut {
            module.reader.remove()
            module.reader.insert(card)
        } else {
            let other = try TestModule(module.reader)
            let others = try other.session(loggedIn: true)
            try other.cryptoki.setPIN(others, from: .of("123456"), to: .of("654321"))
            try other.cryptoki.logOut(others)
            #expect(returned { _ = try module.sign(session, Self.ecdsa, key, Self.digest) } == CKR_USER_NOT_LOGGED_IN)
        }
        try module.cryptoki.logIn(session, CKU_USER, pin: .of(isTakenOut ? "123456" : "654321"))
        #expect(returned { _ = try module.value(session, own, CKA_VALUE) } == CKR_OBJECT_HANDLE_INVALID)
        #expect(try module.value(session, open, CKA_VALUE) == [1, 2, 3])
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY))) == [open])
        let (next, _) = try secrets(module, session)
        #expect(try module.value(session, next, CKA_VALUE) == [1, 2, 3])
    }

    @Test func aSignatureOfOneLoginIsNotMadeInTheNext() throws {
        let card = try Cards.plain()
        let module = try TestModule(VirtualReader(card: card))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session(loggedIn: true)
        try module.cryptoki.signInit(session, Self.ecdsa, key: module.key(session, [2]))
        try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of("123456"))
        module.reader.remove()
        #expect(returned { _ = try module.find(session) } == CKR_DEVICE_REMOVED)
        module.reader.insert(card)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        let result = returned { _ = try module.cryptoki.sign(session, Self.digest, .bytes(64)) }
        #expect(result == CKR_USER_NOT_LOGGED_IN)
        #expect(try module.sign(session, Self.ecdsa, module.key(session, [2]), Self.digest).count == 64)
    }

    /// A signature of another key is wrong, and may not fit into the room for this key's.
    @Test(arguments: [true, false], [CardAlgorithm.p256, .rsa4096])
    func aHandleIsOfItsOwnKeyAloneWhateverCameInItsPlace(isListed: Bool, algorithm: CardAlgorithm) throws {
        let old = try Cards.plain(.p256, .yubiKey57)
        let first = try TestModule(VirtualReader(card: old))
        #expect(try first.find(first.session()).count > 10)
        let module = try TestModule(first.reader, sharing: first)
        let session = try module.session(loggedIn: true)
        if isListed { #expect(try module.find(session).count > 10) }
        let key = try module.key(session, [1])
        // The card is taken out, gets another key from another program, and is put in again.
        var contents = old.contents
        contents.keys[.authentication] = CardKey(
            try PrivateKey.generate(algorithm == .p256 ? .ecP256 : .rsa(bits: 4096)), algorithm: algorithm,
            pinPolicy: .once, touchPolicy: .never, origin: .generated)
        module.reader.insert(VirtualCard(profile: old.profile, contents: contents, clock: SimulatedClock()))
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        for _ in 0..<2 {
            #expect(returned { _ = try module.sign(session, Self.ecdsa, key, Self.digest) } == CKR_KEY_HANDLE_INVALID)
        }
        // A new search finds the key that is there.
        let next = try module.key(session, [1])
        #expect(next != key)
        let mechanism = algorithm == .p256 ? Self.ecdsa : MechanismRequest(CKM_SHA256_RSA_PKCS)
        #expect(try module.sign(session, mechanism, next, Self.digest).count == (algorithm == .p256 ? 64 : 512))
    }

    @Test func sessionsEndWhenAnotherCardComes() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session(loggedIn: true)
        module.reader.insert(try Cards.plain())
        #expect(returned { _ = try module.find(session) } == CKR_SESSION_HANDLE_INVALID)
        #expect(returned { _ = try module.cryptoki.sessionInfo(session) } == CKR_SESSION_HANDLE_INVALID)
        let next = try module.session()
        #expect(try module.find(next, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).count == 4)
    }

    @Test func whatThereWasOfEarlierCardsIsForgottenWithTheFirstSessionOfTheNext() throws {
        let first = try Cards.plain()
        let module = try TestModule(VirtualReader(card: first))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session()
        let handles = try module.find(session)
        _ = try secrets(module, module.session(loggedIn: true))
        for card in [try Cards.plain(), first, try Cards.plain()] {
            module.reader.insert(card)
            // A program may have left its sessions open.
            let next = try module.session()
            #expect(module.cryptoki.sessionCounts(module.slots[0]).all == 1)
            #expect(try module.find(next, (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY))).isEmpty)
            let found = try module.find(next)
            #expect(Set(found).isDisjoint(with: handles))
            #expect(module.cryptoki.handles.count == found.count)
            #expect(returned { _ = try module.value(next, handles[0], CKA_CLASS) } == CKR_OBJECT_HANDLE_INVALID)
        }
        #expect(returned { _ = try module.find(session) } == CKR_SESSION_HANDLE_INVALID)
    }

    /// A session of the previous card would keep the login from ending with the last session of this card.
    @Test func aSessionOfAnEarlierCardKeepsNoLogin() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        _ = try module.session()
        module.reader.insert(try Cards.plain())
        let session = try module.session(loggedIn: true)
        try module.cryptoki.closeSession(session)
        #expect(try module.cryptoki.sessionInfo(module.session()).state == CKS_RW_PUBLIC_SESSION)
    }

    @Test func thePINOfOneCardIsNeverSentToAnother() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        let sent = module.reader.pinsSent
        module.reader.insert(try Cards.plain())
        #expect(returned { _ = try module.sign(session, Self.ecdsa, key, Self.digest) } != CKR_OK)
        #expect(module.reader.pinsSent == sent)
    }

    @Test func aKeyThatWantsNoPINIsNotUsedInPlaceOfThatOfAnotherCard() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session()
        try module.cryptoki.signInit(session, Self.ecdsa, key: module.key(session, [4]))
        module.reader.insert(try Cards.plain())
        let result = returned { _ = try module.cryptoki.sign(session, Self.digest, .bytes(64)) }
        #expect(result == CKR_DEVICE_REMOVED)
    }

    @Test func anOperationInPartsEndsWithTheCardBeingOut() throws {
        let card = try Cards.plain()
        let module = try TestModule(VirtualReader(card: card))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session()
        let (key, request) = (try module.key(session, [4]), MechanismRequest(CKM_ECDSA_SHA256))
        try module.cryptoki.signInit(session, request, key: key)
        try module.cryptoki.signUpdate(session, [1])
        module.reader.remove()
        #expect(returned { _ = try module.cryptoki.signFinal(session, .bytes(64)) } == CKR_DEVICE_REMOVED)
        module.reader.insert(card)
        #expect(try module.sign(session, request, key, [1]).count == 64)
    }

    @Test func aCardThatGoesInTheMiddleOfASignatureEndsItAndNotTheSession() throws {
        let card = try Cards.plain()
        let module = try TestModule(VirtualReader(card: card))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        module.reader.faults.order(.remove)
        #expect(returned { _ = try module.sign(session, Self.ecdsa, key, Self.digest) } == CKR_DEVICE_REMOVED)
        module.reader.insert(card)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(try module.sign(session, Self.ecdsa, key, Self.digest).count == 64)
    }

    @Test func theEndOfTheModuleLetsGoOfTheCard() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        #expect(module.reader.connectionCount == 1)
        module.cryptoki.finalize()
        #expect(module.reader.connectionCount == 0)
        #expect(returned { _ = try module.cryptoki.sessionInfo(session) } == CKR_SESSION_HANDLE_INVALID)
    }

    @Test func insertionAndRemovalAreEvents() throws {
        let module = try TestModule(VirtualReader(name: "One"), VirtualReader(name: "Two"))
        let slots = module.cryptoki.slotList(withToken: false, refreshing: true)
        #expect(returned { _ = try module.cryptoki.waitForSlotEvent(blocking: false) } == CKR_NO_EVENT)
        module.readers[1].insert(try Cards.plain())
        #expect(try module.cryptoki.waitForSlotEvent(blocking: false) == slots[1])
        #expect(returned { _ = try module.cryptoki.waitForSlotEvent(blocking: false) } == CKR_NO_EVENT)
        module.readers[1].remove()
        #expect(try module.cryptoki.waitForSlotEvent(blocking: false) == slots[1])
    }

    /// The usual order is to list the slots and to wait then: what happens in between is not missed.
    @Test func whatHappensAfterTheFirstListIsAnEvent() throws {
        let module = try TestModule(VirtualReader(name: "One"))
        let slots = module.cryptoki.slotList(withToken: false, refreshing: true)
        module.reader.insert(try Cards.plain())
        #expect(try module.cryptoki.waitForSlotEvent(blocking: true) == slots[0])
        #expect(returned { _ = try module.cryptoki.waitForSlotEvent(blocking: false) } == CKR_NO_EVENT)
    }

    /// A token that is a reader and a card in one comes as two events, and a service that ends takes several readers with it.
    @Test(arguments: 1...4, 1...2)
    func whatHappensAtOnceIsToldSlotBySlot(reports: Int, cards: Int) throws {
        let readers = [VirtualReader(name: "One"), VirtualReader(name: "Two")]
        let inserted = try (0..<cards).map { _ in try Cards.plain() }
        let module = try TestModule(
            readers[0], readers[1],
            watchingReaders: { _, report in
                for (reader, card) in zip(readers, inserted) { reader.insert(card) }
                for _ in 0..<reports { report(.serviceAvailable) }
            })
        let slots = module.cryptoki.slotList(withToken: false, refreshing: true)
        let found = try module.cryptoki.events.next(blocking: true)
        #expect(found == slots[0])
        if cards == 2 { #expect(try module.cryptoki.waitForSlotEvent(blocking: true) == slots[1]) }
        #expect(returned { _ = try module.cryptoki.waitForSlotEvent(blocking: false) } == CKR_NO_EVENT)
    }

    @Test func aWaitGoesOnThroughWhatChangesNoSlot() throws {
        let (reader, card) = (VirtualReader(name: "One"), try Cards.plain())
        let module = try TestModule(
            reader,
            watchingReaders: { _, report in
                report(.serviceAvailable)
                reader.insert(card)
                report(.serviceAvailable)
                report(.serviceAvailable)
            })
        let slots = module.cryptoki.slotList(withToken: false, refreshing: true)
        let found = try module.cryptoki.events.next(blocking: true)
        #expect(found == slots[0])
    }

    @Test func aCardThatTookTheOthersPlaceIsAnEvent() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let slots = module.cryptoki.slotList(withToken: true, refreshing: true)
        module.reader.remove()
        module.reader.insert(try Cards.plain())
        #expect(try module.cryptoki.waitForSlotEvent(blocking: false) == slots[0])
        #expect(returned { _ = try module.cryptoki.waitForSlotEvent(blocking: false) } == CKR_NO_EVENT)
    }

    /// Once any call has met the other card, no function of an old session takes it for the first one.
    @Test func everyFunctionOfASessionWithAnotherCardSaysSo() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let slot = module.slots[0]
        _ = try module.cryptoki.tokenInfo(slot)
        let calls: [(CK_SESSION_HANDLE, CK_OBJECT_HANDLE) throws -> Void] = [
            { try module.cryptoki.signInit($0, Self.ecdsa, key: $1) },
            { _ = try module.cryptoki.reader(of: $1, in: $0) },
            { session, _ in
                _ = try module.cryptoki.sessionInfo(session)
            },
            { session, _ in try module.cryptoki.logOut(session) },
        ]
        let sessions = try calls.map { _ in try module.session() }
        try module.cryptoki.logIn(sessions[0], CKU_USER, pin: .of("123456"))
        let key = try module.key(sessions[0], [1])
        module.reader.insert(try Cards.plain())
        _ = try module.cryptoki.tokenInfo(slot)
        for (call, session) in zip(calls, sessions) {
            #expect(returned { try call(session, key) } == CKR_SESSION_HANDLE_INVALID)
        }
    }
}
