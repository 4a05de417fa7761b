internal import KeychainModel
internal import SecureBytes
internal import Wire

extension SearchRequest.Secrets: WireValue {}

extension SearchRequest: WireValue {
    func write(to message: inout MessageWriter) {
        query.write(to: &message)
        secrets.write(to: &message)
        message.append(leavesOutGuarded)
        message.append(describesKeychains)
        message.append(endsAuthentication)
        start.write(to: &message)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try Query(from: &message), secrets: try Secrets(from: &message), leavingOutGuarded: try message.flag(),
            describingKeychains: try message.flag(), endingAuthentication: try message.flag(),
            after: try SearchPosition?(from: &message))
    }
}

extension SearchPosition: WireRecord {
    static let fields = Fields(SearchPosition.init(matchCount:foundCount:), \.matchCount, \.foundCount)
}

extension SearchPage: WireRecord {
    static let fields = Fields(SearchPage.init(_:keychains:next:), \.found, \.keychains, \.next)
}

/// Written and read without ``Fields``, as ``Item`` is: an answer may have thousands.
extension FoundItem: WireValue {
    func write(to message: inout MessageWriter) {
        item.write(to: &message)
        key.write(to: &message)
        secret.write(to: &message)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try Item(from: &message), key: try Item?(from: &message), secret: try SharedSecret?(from: &message))
    }
}
