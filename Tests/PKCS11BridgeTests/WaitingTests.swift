import CCryptoki
import Foundation
import KeychainHost
import PIVDriver
import Platform
import Synchronization
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// Calls that wait for a card which another program holds, and those that wait behind them.
@Suite struct WaitingTests {
    private let reader = HeldReader(VirtualReader(card: try? Cards.plain()))
    private let folder: TemporaryFolder
    private let cryptoki: Cryptoki
    private let session: CK_SESSION_HANDLE
    private let key: CK_OBJECT_HANDLE

    init() throws {
        let folder = try TemporaryFolder()
        let home = folder.path
        let preferences = KeychainPreferences(
            directories: Directories(system: home + "/etc") {
                ["HOME": home, "XDG_RUNTIME_DIR": home + "/run"][$0]
            })
        let process = ProcessKeychains(
            preferences, drivers: { [PIVDriver(memory: $0.tokens, certificates: $0.certificates)] },
            readers: { [reader] in [reader] })
        cryptoki = Cryptoki(Host(forTokensOf: process, prompter: nil, touchPrompter: nil))
        self.folder = folder
        let slot = try #require(cryptoki.slotList(withToken: true, refreshing: true).first)
        session = try cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION | CKF_RW_SESSION)
        try cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        try cryptoki.findObjectsInit(session, WaitingTests.privateKeys)
        key = try #require(try cryptoki.findObjects(session, limit: 1).first)
    }

    private static let privateKeys = Template([(type: CKA_CLASS, value: Encoded.ulong(CKO_PRIVATE_KEY))])

    /// A call on its own thread, and its return value.
    private final class Call: Sendable {
        private let outcome = Mutex<CK_RV?>(nil)

        init(_ body: @escaping @Sendable () throws -> Void) {
            Thread { [self] in
                let code = returned(body)
                outcome.withLock { $0 = code }
            }.start()
        }

        var code: CK_RV? { outcome.withLock { $0 } }

        var isOver: Bool { eventually { code != nil } }
    }

    private func sign() -> Call {
        Call { [cryptoki, session, key] in
            try cryptoki.signInit(session, MechanismRequest(CKM_ECDSA), key: key)
            _ = try cryptoki.sign(session, [UInt8](repeating: 1, count: 32), .bytes(1_024))
        }
    }

    private func changePIN() -> Call {
        Call { [cryptoki, session] in try cryptoki.setPIN(session, from: .of("123456"), to: .of("654321")) }
    }

    @Test func whoWaitedBehindACallThatGaveUpHasWaitedForTheSame() throws {
        reader.isHeld = true
        let first = sign()
        #expect(eventually { reader.waits.count == 1 })
        let second = changePIN()
        // The second call is queued, and comes to the card only later.
        usleep(200_000)
        #expect(reader.waits.count == 1)
        let gaveUp = ContinuousClock.now
        reader.giveUp()
        #expect(first.isOver)
        #expect(eventually { reader.waits.count == 2 })
        reader.giveUp()
        #expect(second.isOver)
        #expect([first.code, second.code] == [CKR_DEVICE_ERROR, CKR_DEVICE_ERROR])
        #expect(try #require(reader.waits.last).start < gaveUp)

        // A later call begins a new wait.
        let third = changePIN()
        #expect(eventually { reader.waits.count == 3 })
        #expect(try #require(reader.waits.last).start > gaveUp)
        reader.isHeld = false
        #expect(third.isOver)
        #expect(third.code == CKR_OK)
    }

    @Test func whatWasReadIsToldWhileACallWaits() throws {
        let slot = try #require(cryptoki.slotList(withToken: true, refreshing: false).first)
        try cryptoki.findObjectsInit(session, Template([]))
        let mechanisms = Mutex<[CK_MECHANISM_TYPE]>([])
        let count = reader.inner.log.count
        reader.isHeld = true
        let waiting = changePIN()
        #expect(eventually { reader.waits.count == 1 })
        let asking = Call { [cryptoki, session] in
            let told = try cryptoki.mechanisms(slot).map(\.type)
            mechanisms.withLock { $0 = told }
            _ = try cryptoki.mechanism(CKM_ECDSA, of: slot)
            for (objectClass, count) in [(CKO_PRIVATE_KEY, 4), (CKO_CERTIFICATE, 4), (CKO_PROFILE, 1), (4711, 0)] {
                let template = Template([(type: CKA_CLASS, value: Encoded.ulong(objectClass))])
                try cryptoki.findObjectsInit(session, template)
                #expect(try cryptoki.findObjects(session, limit: 100).count == count)
            }
        }
        #expect(asking.isOver)
        #expect(asking.code == CKR_OK)
        #expect(waiting.code == nil)
        #expect(reader.inner.log.count == count)
        reader.isHeld = false
        #expect(waiting.isOver)
        #expect(try cryptoki.mechanisms(slot).map(\.type) == mechanisms.withLock { $0 })
    }

    @Test func theEndOfTheModuleEndsEveryWait() throws {
        reader.isHeld = true
        let waiting = [sign(), changePIN(), changePIN()]
        #expect(eventually { !reader.waits.isEmpty })
        let end = Call { [cryptoki] in cryptoki.finalize() }
        #expect(end.isOver)
        let codes = waiting.map { $0.isOver ? $0.code : nil }
        // Calls that had not begun are cancelled, or find that their session has ended.
        let ended = [CKR_FUNCTION_CANCELED, CKR_SESSION_HANDLE_INVALID]
        #expect(codes.allSatisfy { $0.map(ended.contains) ?? false }, "\(codes)")
        #expect(codes.contains(CKR_FUNCTION_CANCELED))
        // The card is released once it has forgotten the PIN.
        reader.isHeld = false
        #expect(eventually { reader.inner.connectionCount == 0 })
    }
}

/// A reader whose card another program can hold: calls wait then, and give up when the test says so.
private final class HeldReader: CardReader {
    private struct State {
        var isHeld = false
        var waits: [CardWait] = []
        var gaveUp = 0
    }

    let inner: VirtualReader
    private let state = Mutex(State())

    init(_ inner: VirtualReader) {
        self.inner = inner
    }

    var name: String { inner.name }
    var occupancy: ReaderOccupancy { inner.occupancy }

    var isHeld: Bool {
        get { state.withLock { $0.isHeld } }
        set { state.withLock { $0.isHeld = newValue } }
    }

    /// The waits that began, in their order.
    var waits: [CardWait] { state.withLock { $0.waits } }

    /// Ends the last wait as one that took too long.
    func giveUp() { state.withLock { $0.gaveUp = $0.waits.count } }

    func connect(trace: (any CardTrace)?, _ wait: CardWait) throws(CardError) -> any CardConnection {
        Connection(try inner.connect(trace: trace, wait), self)
    }

    func awaitOthers(_ wait: CardWait) throws(CardError) {
        guard isHeld else { return }
        let number = state.withLock { state in
            state.waits.append(wait)
            return state.waits.count
        }
        while isHeld {
            guard !wait.isCancelled else { throw CardError(.cancelled, "called off") }
            guard state.withLock({ $0.gaveUp < number }) else { throw CardError(.inUse, "held") }
            usleep(1_000)
        }
    }

    private final class Connection: CardConnection {
        private let inner: any CardConnection
        private let reader: HeldReader

        init(_ inner: any CardConnection, _ reader: HeldReader) {
            (self.inner, self.reader) = (inner, reader)
        }

        var atr: ATR { inner.atr }
        var isCardPresent: Bool { inner.isCardPresent }
        var isHeldElsewhere: Bool { reader.isHeld }

        func withTransaction<Result: ~Copyable>(
            _ hold: CardHold, _ wait: CardWait, _ body: (inout CardTransaction) throws(TokenError) -> Result
        ) throws(TokenError) -> Result {
            do throws(CardError) { try reader.awaitOthers(wait) } catch { throw TokenError(error) }
            return try inner.withTransaction(hold, wait, body)
        }

        func disconnect(resetting: Bool) { inner.disconnect(resetting: resetting) }
    }
}
