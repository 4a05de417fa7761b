internal import KeychainModel
internal import Wire

extension JournalEntry.Action: WireValue {}

extension JournalEntry: WireRecord {
    static let fields = Fields(
        JournalEntry.init(time:program:process:_:item:keychain:failure:),
        \.time, \.program, \.process, \.action, \.item, \.keychain, \.failure)
}

extension JournalPage: WireRecord {
    static let fields = Fields(JournalPage.init(_:next:isIncomplete:), \.entries, \.next, \.isIncomplete)
}
