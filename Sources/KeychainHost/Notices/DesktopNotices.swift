internal import Glibc
internal import HostAPI
internal import KeychainModel
internal import Localization
package import Platform
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

/// The notices of the session's host at the desktop, about the cards of all its clients. None has a secret.
package final class DesktopNotices: Sendable {
    private static let day: Int64 = 24 * 3600
    /// The time before a certificate's end in which the person is told of it, in seconds.
    private static let noticeOfEnd = 30 * day
    /// The seconds in which a card that does not answer is told of once. It may have been put in again meanwhile.
    private static let periodOfMuteCards: Int64 = 3600
    /// The seconds in which a card that cannot be used is not looked up among what was told.
    private static let pauseOfUnusable: Int64 = 60
    /// The certificates, and the unusable cards, whose times of a look are kept.
    private static let maximumCount = 1024
    /// The lines of a notice.
    private static let mostLines = 5

    private let notifier: any DesktopNotifier
    private let memory: NoticeMemory
    private let now: @Sendable () -> Int64
    /// The time at which a certificate was last looked at.
    private let looks = Mutex<[PersistentReference: Int64]>([:])
    /// The time at which the error of an unusable card was last looked up.
    private let unusable = Mutex<[String: Int64]>([:])

    /// - Parameters:
    ///   - directories: the user's folders, one of which has the times of notices.
    ///   - now: the time in seconds since 1970.
    package init(
        _ notifier: any DesktopNotifier, in directories: Directories,
        now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }
    ) {
        (self.notifier, self.now) = (notifier, now)
        memory = NoticeMemory(in: directories.cache)
    }

    // MARK: Touch

    /// Shows that a card waits for a touch.
    ///
    /// - Parameter isCertain: whether the key is known to wait for one.
    /// - Returns: the function that takes the notice away.
    fileprivate func showTouch(of card: String, isCertain: Bool, for program: String) -> @Sendable () -> Void {
        let (program, name) = (DesktopText.program(program), DesktopText.name(card))
        let notice = DesktopNotice(
            topic: "touch \(card)", kind: .wait, title: isCertain ? "Touch the card" : "Touch the card if it blinks",
            text: isCertain
                ? "\(program) uses \(name), which waits for a touch."
                : "\(program) uses \(name), which has not answered yet.")
        let number = notifier.show(notice)
        return { [notifier] in notifier.close(number) }
    }

    // MARK: Cards

    fileprivate func tell(_ news: TokenNews, _ reader: String, for program: String) {
        switch news {
        case .refusedPIN(let kind, let triesLeft): tellOfRefusal(kind, triesLeft, reader, DesktopText.program(program))
        case .unusable(let error): tellOfUnusable(error, reader)
        }
    }

    private func tellOfRefusal(_ kind: PINKind, _ triesLeft: Int, _ reader: String, _ program: LocalizedText) {
        let card = DesktopText.name(reader)
        let notice =
            triesLeft == 0
            ? DesktopNotice(
                topic: "PIN \(reader)", kind: .warning, title: "The \(kind.name) is blocked",
                text: "The card in \(card) refused the last try of the \(kind.name), which came from \(program).")
            : DesktopNotice(
                topic: "PIN \(reader)", kind: .warning, title: "One try of the \(kind.name) is left",
                text:
                    "The card in \(card) refused the \(kind.name) that came from \(program). Another wrong one blocks it."
            )
        _ = notifier.show(notice)
    }

    /// A card that no driver knows may stay in its reader for other programs and modules, so that it is told of once a week.
    private func tellOfUnusable(_ error: TokenError, _ reader: String) {
        let isUnknown = error.code == .unrecognized
        let period = isUnknown ? NoticeMemory.longestPeriod : DesktopNotices.periodOfMuteCards
        let notice = DesktopNotice(
            topic: "card \(reader)", kind: .warning,
            title: isUnknown ? "No driver knows the card" : "The card does not answer",
            text: LocalizedText(verbatim: DesktopText.sentence(error.reason)))
        // Programs may ask for the card many times a second.
        let now = now()
        let isNew = unusable.withLock { unusable in
            if let last = unusable[error.reason], 0..<DesktopNotices.pauseOfUnusable ~= now - last { return false }
            if unusable.count >= DesktopNotices.maximumCount { unusable = [:] }
            unusable[error.reason] = now
            return true
        }
        guard isNew else { return }
        // The card is held during this call.
        BlockingThread.start { [self] in
            if memory.isDue(Array("card \(error.reason)".utf8), after: period, now: now) { _ = notifier.show(notice) }
        }
    }

    // MARK: Certificates

    /// Tells of certificates on tokens that end soon, of each once a week. Each is looked at once a day.
    fileprivate func look(at items: [Item]) {
        let now = now()
        let unseen = looks.withLock { looks in
            if looks.count > DesktopNotices.maximumCount { looks = [:] }
            return items.filter { item in
                guard item.itemClass == .certificate, item.isOnToken else { return false }
                if let last = looks[item.reference], 0..<DesktopNotices.day ~= now - last { return false }
                looks[item.reference] = now
                return true
            }
        }
        guard !unseen.isEmpty else { return }
        BlockingThread.start { [self] in
            let ending = unseen.filter { item in
                guard let certificate = item.certificate,
                    now...now + DesktopNotices.noticeOfEnd ~= certificate.notAfter
                else { return false }
                return memory.isDue(
                    Array("certificate".utf8) + certificate.der, after: NoticeMemory.longestPeriod, now: now)
            }
            for (token, items) in Dictionary(grouping: ending, by: \.keychain) { tellOfEnds(of: items, on: token, now) }
        }
    }

    private func tellOfEnds(of items: [Item], on token: KeychainIdentifier, _ now: Int64) {
        let ends = items.compactMap { item in item.certificate.map { (item, $0) } }
            .sorted { $0.1.notAfter < $1.1.notAfter }
        guard let first = ends.first?.0 else { return }
        var lines = ends.prefix(DesktopNotices.mostLines).map { item, certificate in
            let days = (certificate.notAfter - now) / DesktopNotices.day
            let time: LocalizedText =
                days == 0 ? "within a day" : .plural(Int(days), one: "in a day", other: "in \(days) days")
            let label = item.label.map { ", \(DesktopText.name($0))," } ?? ""
            let name = DesktopText.name(item.commonName ?? token.rawValue)
            return "The certificate of \(name)\(label) ends \(time)." as LocalizedText
        }
        let more: LocalizedText = "So do \(ends.count - lines.count) more."
        if ends.count > lines.count { lines.append(more) }
        // Those of a token that are read one after the other replace none of each other.
        let notice = DesktopNotice(
            topic: "certificate \(first.reference)", kind: .warning,
            title: ends.count == 1 ? "A certificate ends soon" : "Certificates end soon",
            text: LocalizedText(verbatim: lines.map { $0.rendered(in: .ofProcess) }.joined(separator: "\n")))
        _ = notifier.show(notice)
    }
}

/// The notices at the desktop about what one client does.
struct ClientNotices: Sendable {
    private let notices: DesktopNotices
    private let program: String

    init(_ notices: DesktopNotices, of client: HostStatus.Client) {
        (self.notices, program) = (notices, client.program)
    }

    /// Shows that a card waits for a touch.
    ///
    /// - Parameter isCertain: whether the key is known to wait for one.
    /// - Returns: the function that takes the notice away.
    func showTouch(of card: String, isCertain: Bool) -> @Sendable () -> Void {
        notices.showTouch(of: card, isCertain: isCertain, for: program)
    }

    func tell(_ news: TokenNews, _ reader: String) { notices.tell(news, reader, for: program) }

    /// Tells of certificates on tokens that end soon.
    func look(at items: [Item]) { notices.look(at: items) }
}

/// Names in notices. Programs, cards and their issuers choose them.
private enum DesktopText {
    private static let mostCharacters = 60
    private static let mostCharactersOfSentence = 300

    static func name(_ name: String) -> String { "'\(bounded(name, mostCharacters))'" }

    static func program(_ name: String) -> LocalizedText {
        name.isEmpty ? "A program" : LocalizedText(verbatim: self.name(name))
    }

    /// A reason of an error as a sentence.
    static func sentence(_ reason: String) -> String {
        let text = bounded(reason, mostCharactersOfSentence)
        return text.prefix(1).uppercased() + text.dropFirst() + "."
    }

    private static func bounded(_ text: String, _ count: Int) -> String {
        let scalars = text.unicodeScalars.prefix(count + 1)
        let start = String(String.UnicodeScalarView(scalars.prefix(count)))
        return DisplayText.line(start) + (scalars.count > count ? "…" : "")
    }
}
