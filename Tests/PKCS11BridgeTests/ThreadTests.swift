import CCryptoki
import CryptokiNames
import Foundation
import Synchronization
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import PKCS11Bridge

/// Many threads in one module, while cards come and go.
@Suite struct ThreadTests {
    /// Runs `body` on `count` threads, and waits for them.
    private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let group = DispatchGroup()
        for number in 0..<count {
            group.enter()
            Thread {
                body(number)
                group.leave()
            }.start()
        }
        group.wait()
    }

    /// A thread that closes the last session does not log out a session that another thread has opened meanwhile.
    @Test func aLoginLastsAsLongAsItsSessionWhateverOtherThreadsClose() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let slot = module.slots[0]
        let lost = Atomic(0)
        onThreads(4) { _ in
            for _ in 0..<200 {
                guard let session = try? module.cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION) else { continue }
                let code = returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456")) }
                let state = (try? module.cryptoki.sessionInfo(session))?.state
                if ![CKR_OK, CKR_USER_ALREADY_LOGGED_IN].contains(code) || state != CKS_RO_USER_FUNCTIONS {
                    lost.add(1, ordering: .relaxed)
                }
                try? module.cryptoki.closeSession(session)
            }
        }
        #expect(lost.load(ordering: .relaxed) == 0)
    }

    /// A card may be slow, or wait for a touch.
    @Test func sessionsAreOpenedWhileTheCardIsBusy() throws {
        let card = try Cards.plain()
        let module = try TestModule(VirtualReader(card: card))
        let session = try module.session()
        let id = module.slots[0]
        let slot = try #require(try module.host.placeTable.place(at: module.reader.name) as? CardPlace)
        let opened = Mutex<CK_RV?>(nil)
        func open() {
            opened.withLock { $0 = nil }
            Thread {
                let code = returned { _ = try module.cryptoki.openSession(id, flags: CKF_SERIAL_SESSION) }
                opened.withLock { $0 = code }
            }.start()
        }
        let isOpened = slot.state.withLock { _ in
            open()
            return eventually { opened.withLock { $0 == CKR_OK } }
        }
        #expect(isOpened)
        // Only the card itself shows whether it is the same one after an insertion, so that the call has to wait for it.
        let isKnown = slot.state.withLock { _ in
            module.reader.remove()
            module.reader.insert(card)
            open()
            return eventually(within: 0.2) { opened.withLock { $0 != nil } }
        }
        #expect(!isKnown)
        #expect(eventually { opened.withLock { $0 == CKR_OK } })
        #expect(try module.cryptoki.sessionInfo(session).state == CKS_RW_PUBLIC_SESSION)
    }

    @Test func theStateOfASessionIsToldWhileTheCardIsBusy() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let slot = try #require(try module.host.placeTable.place(at: module.reader.name) as? CardPlace)
        let told = Mutex<CK_STATE?>(nil)
        let isTold = slot.state.withLock { _ in
            Thread {
                let state = (try? module.cryptoki.sessionInfo(session))?.state
                told.withLock { $0 = state }
            }.start()
            return eventually { told.withLock { $0 == CKS_RW_USER_FUNCTIONS } }
        }
        #expect(isTold)
    }

    @Test func sixteenThreadsSignFindAndLogInAndOutWhileTheCardIsPulledAHundredTimes() throws {
        let card = try Cards.plain()
        let module = try TestModule(VirtualReader(card: card))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        let slot = module.slots[0]
        let isOver = Atomic(false)
        let signed = Atomic(0)
        let unexpected = Mutex<[CK_RV]>([])
        let puller = Thread {
            for _ in 0..<100 {
                module.reader.remove()
                module.reader.insert(card)
                usleep(2_000)
            }
            isOver.store(true, ordering: .releasing)
        }
        puller.start()
        onThreads(16) { number in
            while !isOver.load(ordering: .acquiring) {
                let code = returned {
                    let session = try module.cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION)
                    defer { try? module.cryptoki.closeSession(session) }
                    _ = try module.find(session)
                    let code = returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456")) }
                    guard [CKR_OK, CKR_USER_ALREADY_LOGGED_IN].contains(code) else { throw CryptokiError(code) }
                    let key = try module.key(session, [[1, 2, 4][number % 3]])
                    _ = try module.sign(session, MechanismRequest(CKM_ECDSA), key, [UInt8](repeating: 1, count: 32))
                    signed.add(1, ordering: .relaxed)
                    if number == 0 { try module.cryptoki.logOut(session) }
                }
                // Return values that another thread or the removal may cause.
                let expected = [
                    CKR_OK, CKR_DEVICE_REMOVED, CKR_TOKEN_NOT_PRESENT, CKR_USER_NOT_LOGGED_IN, CKR_KEY_HANDLE_INVALID,
                    CKR_USER_ALREADY_LOGGED_IN, CKR_SESSION_HANDLE_INVALID,
                ]
                if !expected.contains(code) { unexpected.withLock { $0.append(code) } }
            }
        }
        #expect(unexpected.withLock { $0 } == [])
        #expect(signed.load(ordering: .relaxed) > 0)
        // Everything works afterwards.
        let session = try module.session()
        try? module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(try module.sign(session, MechanismRequest(CKM_ECDSA), module.key(session, [1]), [1]).count == 64)
    }

    @Test func aSlowReaderKeepsNobodyElseWaiting() throws {
        let slow = VirtualReader(name: "Slow", card: try Cards.plain())
        let fast = VirtualReader(name: "Fast", card: try Cards.plain())
        let module = try TestModule(slow, fast)
        let slots = module.slots
        let sessions = try slots.map { try module.cryptoki.openSession($0, flags: CKF_SERIAL_SESSION) }
        let (entered, released) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let holder = Thread {
            let slow = try? module.process.present().tokens.first { $0.name == "Slow" }?.slot
            _ = try? slow?.contents { _ in
                entered.signal()
                released.wait()
                return nil
            }
        }
        holder.start()
        entered.wait()
        defer { released.signal() }
        // The slow reader is busy; all calls for the other one go on.
        #expect(module.cryptoki.slotList(withToken: true, refreshing: true) == slots)
        #expect(try module.find(sessions[1]).count == 12)
        try module.cryptoki.logIn(sessions[1], CKU_USER, pin: .of("123456"))
        let key = try module.key(sessions[1], [1])
        #expect(try module.sign(sessions[1], MechanismRequest(CKM_ECDSA), key, [1]).count == 64)
    }
}
