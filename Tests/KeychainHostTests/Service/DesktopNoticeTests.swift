import Foundation
import HostAPI
import KeychainModel
import PIVDriver
import Platform
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost

/// The notices of a session's host at the desktop.
@Suite struct DesktopNoticeTests {
    /// A desktop that keeps what it is told.
    private final class Desktop: DesktopNotifier {
        private let state = Mutex((shown: [DesktopNotice](), closed: Set<UInt64>()))
        var shown: [DesktopNotice] { state.withLock { $0.shown } }
        /// Whether nothing that waits for a person is shown.
        var isClear: Bool {
            state.withLock { state in
                state.shown.indices.allSatisfy { state.shown[$0].kind != .wait || state.closed.contains(UInt64($0)) }
            }
        }
        var titles: [String] { shown.map(\.title) }

        func show(_ notice: DesktopNotice) -> UInt64 {
            state.withLock { state in
                state.shown.append(notice)
                return UInt64(state.shown.count - 1)
            }
        }

        func close(_ number: UInt64) { state.withLock { _ = $0.closed.insert(number) } }
    }

    /// A signature that another thread makes.
    private final class Signature: Sendable {
        private let made = Mutex<[UInt8]?>(nil)
        var bytes: [UInt8]? {
            get { made.withLock { $0 } }
            set { made.withLock { $0 = newValue } }
        }
    }

    private final class Clock: Sendable {
        private let time = Mutex<Int64>(2_000_000_000)
        var now: Int64 {
            get { time.withLock { $0 } }
            set { time.withLock { $0 = newValue } }
        }
    }

    private static let day: Int64 = 24 * 3600

    private let user: TestUser
    private let desktop = Desktop()
    private let clock = Clock()

    init() throws { user = try TestUser() }

    /// A process that hosts clients, as the session's.
    private func session() -> HostProcess {
        HostProcess(notices: DesktopNotices(desktop, in: user.directories) { [clock] in clock.now })
    }

    private func keychains(
        _ reader: any CardReader, _ cards: SharedCards = SharedCards(), for program: String = "ssh",
        in process: HostProcess, drivers: @escaping (TokenCaches) -> [any TokenDriver] = { _ in [PIVDriver()] }
    ) -> ProcessKeychains {
        ProcessKeychains(
            user.preferences, sharedCards: cards, drivers: drivers, readers: { [reader] },
            tellingNews: process.news(of: HostStatus.Client(process: 4711, program: program)))
    }

    private func host(
        _ keychains: ProcessKeychains, for program: String = "ssh", in process: HostProcess
    ) -> KeychainHost.Host {
        let person = TypesInTurn("123456")
        return KeychainHost.Host(
            forTokensOf: keychains, prompter: person, touchPrompter: person, in: process,
            for: HostStatus.Client(process: 4711, program: program))
    }

    // MARK: Touch

    /// The places of a request: anywhere, as for a command, or in one reader, as for a program with PKCS #11.
    @Test(arguments: [nil, "Desk Reader"])
    func aTouchIsAskedForByTheNameOfTheProgramUntilItCame(place: String?) throws {
        let program = "<b>a</b>\u{202E}\n" + String(repeating: "x", count: 1000)
        let card = try TestCard(profile: .yubiKey57, touchPolicy: .always).make()
        let reader = VirtualReader(name: "Desk Reader", card: card)
        let process = session()
        let host = host(keychains(reader, for: program, in: process), for: program, in: process)
        let hash = try TestCard().key(.authentication).publicKey.keyHash
        let keys = try host.items(matching: Query(.key, [.applicationLabel: .data(hash)]), RequestContext()).found
        let request = KeyRequest(
            .sign(ServiceStage.digest), ServiceStage.algorithm, with: try #require(keys.first).reference)
        let pin = RequestContext.Credential(.pin, Secret(copying: Array("123456".utf8).span))
        if let place { try host.logIn(to: place, forOneUse: false, RequestContext(credentials: [pin], place: place)) }
        let signature = Signature()
        BlockingThread.start {
            signature.bytes = try? host.perform(request, RequestContext(place: place)).secret.copiedBytes
        }
        #expect(eventually { !desktop.shown.isEmpty })
        let notice = try #require(desktop.shown.first)
        #expect(notice.kind == .wait && notice.title == "Touch the card" && !desktop.isClear)
        let name = "<b>a</b>\u{FFFD}\u{FFFD}" + String(repeating: "x", count: 50)
        #expect(notice.text.hasPrefix("'\(name)…' uses '"), "\(notice.text)")
        #expect(notice.text.hasSuffix("', which waits for a touch.") && notice.text.count < 200)
        card.touch()
        #expect(eventually { signature.bytes != nil })
        #expect(eventually { desktop.isClear })
        #expect(desktop.titles == ["Touch the card"])
    }

    // MARK: PINs

    @Test func theLastTryAndABlockedPINAreToldWithTheProgramThatGaveIt() throws {
        let reader = VirtualReader(name: "Desk Reader", card: try TestCard(pinTries: 3).make())
        let (process, cards) = (session(), SharedCards())
        let clients = ["ssh", "firefox"].map { keychains(reader, cards, for: $0, in: process) }
        func verify(_ pin: String, _ client: Int) throws {
            let context = AuthenticationContext(prompter: AnswersByScript(pin), lastTry: .spend)
            let token = try #require(try clients[client].present(locals: false).tokens.first)
            #expect(throws: KeychainError(.authFailed)) { try token.verifyPIN(authentication: context) }
        }
        try verify("000000", 0)
        #expect(desktop.shown.isEmpty)
        try verify("111111", 1)
        #expect(desktop.titles == ["One try of the PIN is left"])
        // It is not sent again.
        try verify("111111", 0)
        try verify("222222", 0)
        // The card is not asked.
        try verify("333333", 1)
        #expect(desktop.titles == ["One try of the PIN is left", "The PIN is blocked"])
        #expect(
            desktop.shown.map(\.text) == [
                "The card in 'Desk Reader' refused the PIN that came from 'firefox'. Another wrong one blocks it.",
                "The card in 'Desk Reader' refused the last try of the PIN, which came from 'ssh'.",
            ])
        #expect(Set(desktop.shown.map(\.topic)).count == 1)
        for pin in ["000000", "111111", "222222"] { #expect(!"\(desktop.shown)".contains(pin)) }
    }

    // MARK: Cards

    private struct MuteReader: CardReader {
        let name = "Desk Reader"
        let occupancy = ReaderOccupancy(hasCard: true)

        func connect(trace: (any CardTrace)?, _ wait: CardWait) throws(CardError) -> any CardConnection {
            throw CardError(.muteCard, "the card in \"\(name)\" does not answer")
        }
    }

    @Test func aCardThatCannotBeUsedIsToldOnceForAWhile() throws {
        let mute = keychains(MuteReader(), in: session())
        func look(_ keychains: ProcessKeychains) throws {
            _ = try? keychains.present(locals: false).tokens.first?.identity()
        }
        for _ in 0..<3 { try look(mute) }
        #expect(eventually { desktop.titles == ["The card does not answer"] })
        #expect(desktop.shown.first?.text == "The card in \"Desk Reader\" does not answer.")
        // A card for another program stays in its reader.
        let reader = VirtualReader(name: "Other Reader", card: try TestCard().make())
        for _ in 0..<2 { try look(keychains(reader, in: session()) { _ in [BadgeDriver()] }) }
        #expect(eventually { desktop.shown.count == 2 })
        #expect(desktop.shown.last?.text.hasPrefix("No driver knows the card in 'Other Reader'") == true)
        clock.now += Self.day
        // Looked at first: a look whose thread begins after a later one would find a time in the future.
        try look(keychains(reader, in: session()) { _ in [BadgeDriver()] })
        try look(mute)
        #expect(eventually { desktop.shown.count == 3 })
        clock.now += 6 * Self.day
        try look(keychains(reader, in: session()) { _ in [BadgeDriver()] })
        #expect(eventually { desktop.shown.count == 4 })
        #expect(desktop.titles[1] == "No driver knows the card")
        #expect(desktop.shown[2].text.contains("Desk Reader") && desktop.shown[3].text.contains("Other Reader"))
    }

    // MARK: Certificates

    private func certificate(_ slot: CardKeyReference, _ name: String, endsIn days: Int64) throws -> [UInt8] {
        let key = try TestCard().key(slot).privateKey
        let builder = try CertificateBuilder(
            commonName: name, publicKey: key.publicKey, notBefore: clock.now - 1000 * Self.day,
            notAfter: clock.now + days * Self.day + 3600)
        return try builder.selfSigned(by: key).der
    }

    @Test func theEndOfACertificateIsToldOnceAWeekByWhicheverHostReadsIt() throws {
        var card = TestCard()
        card.certificates = [
            .authentication: try certificate(.authentication, "Anna", endsIn: 12),
            .signature: try certificate(.signature, "Long", endsIn: 37),
            .keyManagement: try certificate(.keyManagement, "Over", endsIn: -1),
            .cardAuthentication: try certificate(.cardAuthentication, "Door\u{1B}", endsIn: 1),
        ]
        let reader = VirtualReader(name: "Desk Reader", card: try card.make())
        func look(_ process: HostProcess) throws -> Int {
            let host = host(keychains(reader, in: process), in: process)
            reader.clearLog()
            #expect(try host.items(matching: Query(.certificate, limit: .all), RequestContext()).found.count == 4)
            return reader.log.count
        }
        let (first, second) = (session(), session())
        let commands = try look(first)
        #expect(eventually { desktop.shown.count == 1 })
        let notice = try #require(desktop.shown.first)
        #expect(notice.title == "Certificates end soon" && notice.kind == .warning)
        let lines = notice.text.split(separator: "\n")
        #expect(lines.count == 2, "\(notice.text)")
        #expect(lines.first?.hasPrefix(#"The certificate of 'Door\1B', '"#) == true)
        #expect(lines.first?.hasSuffix("', ends in a day.") == true)
        #expect(lines.last?.hasPrefix("The certificate of 'Anna', '") == true)
        #expect(lines.last?.hasSuffix(" ends in 12 days.") == true)
        // The certificates are read as by a host without a desktop, and not told of again.
        #expect(try look(HostProcess()) == commands)
        for _ in 0..<2 { #expect(try look(second) == commands) }
        clock.now += 6 * Self.day
        _ = try look(first)
        clock.now += 2 * Self.day
        for process in [first, second] { _ = try look(process) }
        var later: [Substring] { desktop.shown.dropFirst().flatMap { $0.text.split(separator: "\n") } }
        #expect(eventually { later.count >= 2 })
        #expect(later.filter { $0.contains("'Anna'") && $0.hasSuffix("in 4 days.") }.count == 1, "\(later)")
        #expect(later.filter { $0.contains("'Long'") && $0.hasSuffix("in 29 days.") }.count == 1, "\(later)")
        #expect(later.count == 2)
    }

    @Test func aProgramWithPKCS11IsToldOfItsCertificatesToo() throws {
        var card = TestCard()
        card.certificates[.authentication] = try certificate(.authentication, "Anna", endsIn: 0)
        let process = session()
        let host = host(
            keychains(VirtualReader(name: "Desk Reader", card: try card.make()), in: process), in: process)
        _ = try host.tokenItems(in: "Desk Reader", TokenItemSelection([.certificates]), RequestContext())
        #expect(eventually { desktop.titles == ["A certificate ends soon"] })
        #expect(desktop.shown.first?.text.hasSuffix(" ends within a day.") == true)
    }

    // MARK: What was told

    @Test func aNoticeIsRememberedForItsPeriodInAFolderOfTheUsersOwn() throws {
        let cache = user.folder.path("cache")
        let memory = NoticeMemory(in: cache)
        let now = clock.now
        #expect(memory.isDue([1], after: 100, now: now))
        #expect(!memory.isDue([1], after: 100, now: now + 99))
        #expect(!NoticeMemory(in: cache).isDue([1], after: 100, now: now))
        #expect(memory.isDue([2], after: 100, now: now))
        #expect(memory.isDue([1], after: 100, now: now + 100))
        // The clock was wrong.
        #expect(memory.isDue([1], after: 100, now: now))
        let files = { try FileManager.default.contentsOfDirectory(atPath: cache + "/notices") }
        #expect(try files().count == 2)
        #expect(memory.isDue([3], after: 100, now: now + 8 * Self.day))
        #expect(try files().count == 1)
        for number in 0..<400 { _ = memory.isDue([4, UInt8(number / 256), UInt8(number % 256)], after: 100, now: now) }
        #expect(try files().count <= 256)
        // Another user could take all notices away.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: cache + "/notices")
        #expect(memory.isDue([5], after: 100, now: now) && memory.isDue([5], after: 100, now: now))
    }
}
