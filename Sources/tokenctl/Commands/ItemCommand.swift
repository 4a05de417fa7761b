internal import CryptokiNames
internal import KeychainModel
internal import ArgumentParser
internal import HostAPI
internal import ItemDictionaries
internal import Localization
internal import SecureBytes

struct ItemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "item", abstract: "Find, add, change or delete items by the keys of SecItem.",
        discussion: """
            Keys and values are written as class=genp,acct=joe, together or each for itself; Documentation/attributes.md \
            lists the attributes. An attribute's bytes may be in hexadecimal digits after 0x; -d is taken as it is. Without -a, -u or -D the items are printed.
            """)

    @Flag(name: .customShort("q"), help: "Find items; that is so without any other option.")
    var find = false

    @Flag(name: .customShort("g"), help: "Print their data as well.")
    var showData = false

    @Flag(name: .customShort("a"), help: "Add an item.")
    var add = false

    @Flag(name: .customShort("D"), help: "Delete all that match.")
    var delete = false

    @Option(name: .letter("u"), help: ArgumentHelp("Change all that match to this.", valueName: "key=value,…"))
    var changes: String?

    @Option(
        name: .letter("d"), parsing: .unconditional,
        help: ArgumentHelp(
            "The data; other programs can see it, so better use -f. An item that is added without either has none.",
            valueName: "data"))
    var data: String?

    @Option(
        name: .letter("f"), help: ArgumentHelp("The file with the data; - for standard input.", valueName: "file"),
        completion: .file())
    var file: String?

    @Flag(name: .customShort("j"), help: "Print JSON, as --json does.")
    var jsonToo = false

    @Argument(help: "What the items have, as class=genp,acct=joe; or their pkcs11: URIs.")
    var pairs: [String]

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    private var isJSON: Bool { output.json || jsonToo }

    func validate() throws {
        guard [find, add, delete, changes != nil].filter({ $0 }).count <= 1 else {
            throw ValidationError(localized: "choose one of -q, -a, -u and -D")
        }
        guard !(add && pairs.contains { PKCS11URI.isURI($0) }) else {
            throw ValidationError(localized: "an item that is added has no URI yet")
        }
        guard add || changes != nil || (data == nil && file == nil) else {
            throw ValidationError(localized: "data (-d, -f) is for -a and -u")
        }
        guard !showData || isJSON || !(add || delete || changes != nil) else {
            throw ValidationError(localized: "-a, -u and -D print items, and their data (-g), with --json alone")
        }
        guard data == nil || file == nil else {
            throw ValidationError(localized: "give the data either with -d or with -f")
        }
    }

    func run() throws {
        let session = CommandKeychains(try HostAccess(cards, accessGroups: nil))
        do { try perform(in: session) } catch let error as KeychainError where error.code == .itemNotFound {
            try report([])
            // A password is on no card.
            guard ItemClass(rawValue: try ItemArguments.className(of: pairs) ?? "")?.isPassword != true else {
                throw error
            }
            let unread = (try? session.foundTokens())?.missing ?? []
            // The search may have named the cause itself.
            if let card = unread.first(where: { $0.place == .card && error.reason.contains($0.error.reason) })?.error {
                throw KeychainError(card.code, error.reasonText, remedy: card.remedyText)
            }
            session.gaps.tell(unread)
            try session.gaps.doubting { throw error }
        }
    }

    private func perform(in session: CommandKeychains) throws {
        let host = try authentication.host(session.access, for: pairs + [cards.reader].compactMap { $0 })
        let request = authentication.request
        let search = Search(host: host, request: request, gaps: session.gaps, readsData: showData)
        if add {
            var item = try ItemArguments.dictionary(pairs)
            try ItemCommand.requireType(item)
            try takeData(into: &item)
            if isJSON { item["r_Attributes"] = .bool(true) }
            try report(ItemCommand.dictionaries(host.add(item, request)))
        } else if let changes {
            var changes = try ItemArguments.dictionary([changes])
            try takeData(into: &changes)
            let query = try ItemQueries(pairs).dictionary(in: session)
            let references = try search.values(of: query, "r_PersistentRef")
            let count = session.reporting(try host.update(query, to: changes, request))
            if count < references.count {
                Warnings.show(
                    "note: \(references.count - count) of \(references.count) items that match are as they were: they have been altered since they were stored"
                )
            }
            try report(references.flatMap { try search.items(["v_PersistentRef": $0]) })
        } else if delete {
            let query = try ItemQueries(pairs).dictionary(in: session)
            let items = isJSON ? (try? search.items(query)) ?? [] : []
            let count = session.reporting(try host.delete(query, request))
            try report(items)
            if !isJSON {
                StandardError.line(
                    localized: .plural(
                        count, one: "1 item has been deleted.", other: "\(count) items have been deleted."))
            }
        } else {
            let queries = try ItemQueries(pairs).dictionaries(in: session)
            try show(queries.flatMap(search.items))
            // A search with a limit has its answer whatever else there is.
            if queries.allSatisfy(ItemCommand.hasNoLimit) { try session.gaps.end() }
        }
        session.gaps.tell(session.missing)
    }

    private static func hasNoLimit(_ query: ItemDictionary) -> Bool {
        switch query["m_Limit"] {
        case nil, .string("m_LimitAll"): true
        default: false
        }
    }

    /// Refuses a symmetric key without a type. Programs may keep untyped keys, but a person has forgotten the type.
    ///
    /// - Throws: `errSecParam` for such a key, which could not be used.
    private static func requireType(_ item: ItemDictionary) throws {
        guard case .number(KeyClass.symmetric.rawValue) = item["kcls"], item["type"] == nil else { return }
        let types = [("AES", KeyType.aes), ("HMAC", .hmac)].map { String(localized: "type=\($1.rawValue) for \($0)") }
        throw KeychainError(
            .param, "a symmetric key needs its type", remedy: "add \(types.joined(separator: ", "))",
            key: Attribute.keyType.rawValue)
    }

    fileprivate static func dictionaries(_ value: ItemValue?) -> [ItemDictionary] {
        if case .dictionary(let dictionary) = value { [dictionary] } else { [] }
    }

    /// Prints the items that were changed, for programs.
    private func report(_ dictionaries: [ItemDictionary]) throws {
        if isJSON { try show(dictionaries) }
    }

    /// Sets the data, from -d, from -f, or from the pairs. Other programs can see what an argument has.
    private func takeData(into dictionary: inout ItemDictionary) throws {
        let given = dictionary["v_Data"]
        if let secret = try secret() {
            guard given == nil else { throw CommandError("the data is given twice", advice: "leave v_Data out") }
            dictionary["v_Data"] = secret
        } else if case .string(let text) = given {
            dictionary["v_Data"] = .secret(SharedSecret(SecretArgument.secret(text)))
        }
    }

    private func secret() throws -> ItemValue? {
        if let data { return .secret(SharedSecret(SecretArgument.secret(data))) }
        guard let file else { return nil }
        let input = try Input(file)
        var bytes = try input.whole(
            limit: Limits.secret,
            orElse: KeychainError(
                .dataTooLarge, "a secret may have \(Limits.secret) bytes, and '\(input.name)' has more"))
        return .secret(SharedSecret(Secret(consuming: &bytes)))
    }

    private func show(_ dictionaries: [ItemDictionary]) throws {
        guard !isJSON else {
            var secrets = JSONSecrets()
            let shown = dictionaries.map { ItemCommand.members(of: $0, &secrets) }
            return try Listing.showJSON(shown, with: secrets)
        }
        for dictionary in dictionaries {
            for (key, value) in ItemArguments.flat(dictionary).sorted(by: { $0.key < $1.key }) {
                try showLine(key, value)
            }
            StandardOutput.line("====")
        }
    }

    /// The attributes as text; the data is `password` or `data`, as in other commands.
    private static func members(of dictionary: ItemDictionary, _ secrets: inout JSONSecrets) -> [String: String] {
        var dictionary = ItemArguments.flat(dictionary)
        let data = dictionary.removeValue(forKey: "v_Data")
        var members = dictionary.compactMapValues(ItemArguments.text)
        let itemClass = members["class"] ?? ""
        switch data {
        case .secret(let shared):
            (members["password"], members["data"]) = ItemText.members(of: shared.secret, itemClass, &secrets)
        case .data(let bytes):
            let content = Secret(copying: bytes.span)
            (members["password"], members["data"]) = ItemText.members(of: content, itemClass, &secrets)
        default: break
        }
        return members
    }

    private func showLine(_ key: String, _ value: ItemValue) throws {
        if case .secret(let shared) = value {
            try StandardOutput.line("\(key) : ", SecretText.quoted(shared.secret))
        } else if let text = ItemArguments.text(value) {
            StandardOutput.line("\(key) : \(text)")
        }
    }
}

/// The searches of the command.
private struct Search {
    let host: any KeychainService
    let request: RequestContext
    let gaps: Gaps
    let readsData: Bool

    func items(_ query: ItemDictionary) throws -> [ItemDictionary] {
        var query = query
        if readsData { query["r_Data"] = .bool(true) }
        return try values(of: query, "r_Attributes").flatMap { ItemCommand.dictionaries($0) }
    }

    /// The values of all items that match, unless the query has a limit.
    func values(of query: ItemDictionary, _ returned: String) throws -> [ItemValue] {
        var query = query
        query[returned] = .bool(true)
        query["m_Limit"] = query["m_Limit"] ?? .string("m_LimitAll")
        let outcome = try host.copyMatching(query, request)
        gaps.tell(outcome.missing)
        return if case .array(let values) = outcome.found { values } else { [outcome.found].compactMap { $0 } }
    }
}

/// The dictionaries of SecItem as arguments, and their values as text.
enum ItemArguments {
    static func dictionary(_ arguments: [String]) throws -> ItemDictionary {
        var dictionary: ItemDictionary = [:]
        // A comma that no key follows is part of a value.
        for pair in arguments.flatMap({ $0.split(separator: /,(?=[A-Za-z_]+=)/) }) {
            guard let equals = pair.firstIndex(of: "="), equals != pair.startIndex else {
                throw CommandError("'\(pair)' is not a key and a value", advice: "write it as acct=joe")
            }
            let key = String(pair[..<equals])
            let text = String(pair[pair.index(after: equals)...])
            guard dictionary.updateValue(try value(text, for: key), forKey: key) == nil else {
                throw CommandError("'\(key)' is given twice")
            }
        }
        return dictionary
    }

    /// The class that arguments name; nil where they name none.
    static func className(of arguments: [String]) throws -> String? {
        guard case .string(let name) = try dictionary(arguments.filter { !PKCS11URI.isURI($0) })["class"] else {
            return nil
        }
        return name
    }

    /// Attributes alone, each as `code=value`.
    static func attributes(_ pairs: [String]) throws -> Attributes {
        var attributes: Attributes = [:]
        for pair in pairs {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let attribute = Attribute(rawValue: parts[0])
            guard parts.count == 2, let type = attribute.type else {
                throw KeychainError(.noSuchAttribute, "there is no attribute '\(parts[0])'")
            }
            guard let value = try value(parts[1], for: parts[0]).attributeValue, value.converted(to: type) != nil else {
                throw KeychainError(.param, "'\(parts[1])' is not a value of the attribute '\(parts[0])'")
            }
            guard attributes.updateValue(value, forKey: attribute) == nil else {
                throw CommandError("'\(parts[0])' is given twice")
            }
        }
        return attributes
    }

    /// Flattens nested dictionaries, whose members get names such as `v_Provenance.keychain`.
    static func flat(_ dictionary: ItemDictionary) -> ItemDictionary {
        var flat: ItemDictionary = [:]
        for (key, value) in dictionary {
            guard case .dictionary(let members) = value else {
                flat[key] = value
                continue
            }
            for (name, value) in members { flat["\(key).\(name)"] = value }
        }
        return flat
    }

    /// A value as text; nil for one without a textual form.
    static func text(_ value: ItemValue) -> String? {
        switch value {
        case .string(let text): text
        case .data(let bytes): "0x" + Hex.encode(bytes)
        case .number(let number): String(number)
        case .bool(let flag): flag ? "1" : "0"
        case .date(let seconds): Clock.text(seconds)
        case .reference(.item(let item)): "0x" + item.reference.hexText
        case .array, .dictionary, .reference, .secret, .null: nil
        }
    }

    private static func value(_ text: String, for key: String) throws -> ItemValue {
        if key == "m_Limit" { return limit(text) }
        if key == "m_ValidOnDate", text == "now" { return .null }
        if key == "v_PersistentRef" { return try reference(text) }
        if key == "u_AuthUI" { return try authenticationUI(text) }
        let type = Attribute(rawValue: key).type ?? (isFlag(key) ? .boolean : key == "m_ValidOnDate" ? .date : .string)
        switch type {
        case .boolean: return try flag(text, key)
        case .number: return try number(text, key)
        case .date:
            guard let date = DateArgument(argument: text) else {
                throw CommandError("'\(text)' is not a date for '\(key)'", advice: "write it as 2026-10-21")
            }
            return .date(date.seconds)
        case .data, .opaque:
            guard text.hasPrefix("0x") else { return .string(text) }
            guard let bytes = Hex.decode(text.dropFirst(2)) else {
                throw CommandError("'\(text)' has no hexadecimal digits for '\(key)'")
            }
            return .data(bytes)
        case .string, .code: return .string(text)
        }
    }

    /// A persistent reference in hexadecimal digits, with or without `0x`.
    private static func reference(_ text: String) throws -> ItemValue {
        guard let bytes = Hex.decode(text.trimmingPrefix("0x")), (try? PersistentReference(parsing: bytes)) != nil
        else {
            throw CommandError(
                "'\(text)' is not a persistent reference", advice: "write it as the 'reference' of an item's JSON")
        }
        return .data(bytes)
    }

    /// The attributes whose numbers may be given as characters: the creator and the type.
    private static let spelled = Set(
        AttributeDefinition.all.filter { $0.option?.form == .characters }.map(\.attribute.rawValue))

    private static func number(_ text: String, _ key: String) throws -> ItemValue {
        if let number = Int64(text) { return .number(number) }
        if spelled.contains(key), let code = CharacterCode(argument: text) { return .number(code.number) }
        if key == Attribute.synchronizable.rawValue, .string(text) == Query.anySynchronizable { return .string(text) }
        throw CommandError("'\(text)' is not a number for '\(key)'")
    }

    private static func limit(_ text: String) -> ItemValue {
        switch text {
        case "all": .string("m_LimitAll")
        case "one": .string("m_LimitOne")
        default: Int64(text).map { .number($0) } ?? .string(text)
        }
    }

    private static func authenticationUI(_ text: String) throws -> ItemValue {
        switch text {
        case "allow", "u_AuthUIA": .string("u_AuthUIA")
        case "fail", "u_AuthUIF": .string("u_AuthUIF")
        case "skip", "u_AuthUIS": .string("u_AuthUIS")
        default: throw CommandError("'\(text)' is not a value of 'u_AuthUI'", advice: "it is allow, fail or skip")
        }
    }

    private static func isFlag(_ key: String) -> Bool {
        key.hasPrefix("r_") || key.hasSuffix("Insensitive")
            || ["m_TrustedOnly", "u_NoAuthUI", "u_LocalOnly", "u_Distinct", "u_AbsentTokens", "nleg"].contains(key)
    }

    private static func flag(_ text: String, _ key: String) throws -> ItemValue {
        switch text {
        case "1", "true": .bool(true)
        case "0", "false": .bool(false)
        default: throw CommandError("'\(text)' is neither true nor false for '\(key)'")
        }
    }
}
