package import KeychainModel
internal import Localization
package import SecureBytes

/// A keychain file that is open, and its key while it is unlocked. For one thread at a time.
package struct KeychainConnection: ~Copyable {
    package let file: KeychainFile
    package var database: Database
    /// The id that seals are bound to.
    let id: UniqueID
    /// The identifier that tells the keychain from others, which its items carry.
    package let identifier: KeychainIdentifier
    /// Whether the row that both ids are from had been altered when the file was opened.
    package let wasAltered: Bool
    /// The keychain's key; nil while it is locked.
    package var key: Secret?
    /// The last row that was checked for whether the empty password opens the key, and whether it does.
    var emptyPassword: (row: WrappedKey, opens: Bool)?
    /// How long the key is kept.
    package var lifetime: KeyLifetime
    /// The file's data version at the last look at its settings.
    var dataVersion: Int64?
    package let environment: ConnectionEnvironment
    let integrity = IntegrityCheck()

    // MARK: Searching

    /// The items a query finds, in the order they were added, and the gaps for those that could not be read.
    package func search(_ resolved: ResolvedQuery) throws(KeychainError) -> Outcome<[Item]> {
        let query = resolved.query
        var result = try found(resolved)
        guard result.found.count != query.limit.count else { return result }
        switch checkIntegrity() {
        case nil, .sound: break
        case .repaired:
            result = try found(resolved)
            result.missing.append(missing(Self.repaired))
        case .damaged(let error): result.missing.append(missing(error))
        }
        let isSure = query.reference != nil && !result.found.isEmpty
        if result.missing.isEmpty, !isSure { assessAltered(resolved, in: &result) }
        return result
    }

    /// - Parameter filtersAltered: whether an altered item counts only if its present values match the query; otherwise
    ///   each one counts that the client may read and that no readable attribute tells from the wanted one.
    private func found(
        _ resolved: ResolvedQuery, filtersAltered: Bool = false
    ) throws(KeychainError) -> Outcome<[Item]> {
        var result = Outcome<[Item]>()
        try forEachRow(resolved.query, startingOver: { result = Outcome() }) { row throws(KeychainError) in
            do throws(KeychainError) {
                let row = try row()
                let item = row.item(in: identifier)
                if row.isAltered {
                    let mayMatch = resolved.isReadable(item) && row.mayMatch(resolved.query, as: item)
                    if filtersAltered ? resolved.matches(item) : mayMatch { throw row.altered }
                } else if resolved.matches(item) {
                    if !row.itemClass.isPassword { try checkSeal(of: row) }
                    result.found.append(item)
                }
            } catch {
                result.missing.append(missing(error))
            }
            return result.found.count != resolved.query.limit.count
        }
        return result
    }

    /// The altered items that match by their present values; if nothing matches in a damaged file, the damage of the file.
    package func damage(matching query: ResolvedQuery) throws(KeychainError) -> [Missing] {
        let result = try found(query, filtersAltered: true)
        guard result.found.isEmpty, result.missing.isEmpty, case .damaged(let error) = checkIntegrity() else {
            return result.missing
        }
        return [missing(error)]
    }

    private func missing(_ error: KeychainError) -> Missing { Missing(inFile: file.keychainName, error) }

    /// SQLite's plan for a query. Wraps `EXPLAIN QUERY PLAN`.
    package func plan(for query: Query) throws(SQLiteError) -> [String] {
        let (sql, values) = query.itemClass.columns.select(query)
        let statement = try database.prepare("EXPLAIN QUERY PLAN " + sql, values)
        var plan: [String] = []
        while try statement.step() { if case .text(let step) = statement[3] { plan.append(step) } }
        return plan
    }

    /// The secret of an item; nil if it was stored without one. This is a use of the keychain.
    ///
    /// - Parameters:
    ///   - leaving: whether the secret leaves the keychain, and is not only used for an operation.
    ///   - isAuthorized: whether the item's access control has been satisfied.
    package mutating func secret(
        of reference: PersistentReference, leaving: Bool = true, isAuthorized: Bool = false
    ) throws(KeychainError) -> Secret? {
        noteUse()
        let found = try row(of: reference)
        if found.sealed != nil, found.holdsSecret {
            if leaving { try found.checkExtractable() }
            if !isAuthorized { try found.checkFree() }
        }
        return try open(found)
    }

    /// The row of the one item that a reference names.
    package func row(of reference: PersistentReference) throws(KeychainError) -> ItemRow {
        if let found = try foundRow(of: reference) { return found }
        if case .repaired = checkIntegrity(), let found = try foundRow(of: reference) { return found }
        throw KeychainError(.itemNotFound)
    }

    private func foundRow(of reference: PersistentReference) throws(KeychainError) -> ItemRow? {
        var found: ItemRow?
        try forEachRow(Query(reference), startingOver: {}) { row throws(KeychainError) in
            found = try row()
            return false
        }
        // A damaged index may lead to the row of another item.
        return found?.id == reference.localID ? found : nil
    }

    // MARK: Writing

    /// Carries out all steps and the caller's part of the change, or nothing.
    ///
    /// - Parameter others: called in the transaction with the results of the steps; an error from it undoes them.
    package func carryOut<Final: Sendable>(
        _ steps: [KeychainStep], then others: @Sendable ([KeychainStep.Result]) throws(KeychainError) -> Final
    ) throws(KeychainError) -> Final {
        for step in steps { try check(step) }
        let isDeletion = steps.allSatisfy(\.isDeletion)
        // Deletion is allowed in a file whose indexes cannot be repaired.
        if isDeletion { _ = checkIntegrity() } else { try checkIndexes() }
        return try database.writing { () throws(KeychainError) in
            if !isDeletion { try prepareSealing() }
            var results: [KeychainStep.Result] = []
            for step in steps { results.append(try carryOut(step)) }
            return try others(results)
        }
    }

    private func check(_ step: KeychainStep) throws(KeychainError) {
        switch step {
        case .add(let new), .addIfAbsent(let new): try new.checkSealed()
        case .update(let queries, let changes, _):
            for query in queries {
                try checkSelection(query.query)
                _ = try changes.checked(for: query.query.itemClass)
            }
        case .delete(let queries): for query in queries { try checkSelection(query.query) }
        }
    }

    private func carryOut(_ step: KeychainStep) throws(KeychainError) -> KeychainStep.Result {
        switch step {
        case .add(let new):
            let result = try insert(new)
            if case .present = result { throw duplicate(of: new.itemClass, new.attributes) }
            return result
        case .addIfAbsent(let new): return try insert(new)
        case .update(let queries, let changes, let sealed):
            var count = 0
            for query in queries { count += try change(query, changes, sealed) }
            return .count(count)
        case .delete(let queries):
            var count = 0
            for query in queries { count += try remove(query) }
            return .count(count)
        }
    }

    /// Adds an item with its default attributes, unless there is one with the same unique attributes.
    private func insert(_ new: NewItem) throws(KeychainError) -> KeychainStep.Result {
        var row = ItemRow(
            id: UniqueID(), itemClass: new.itemClass, attributes: initialAttributes(of: new), der: new.der, sealed: nil)
        if new.isSealed || key != nil { try seal(new.secret?.secret.clone(), into: &row) }
        try checkPasscode(row)
        let (sql, values) = new.itemClass.columns.insert(row)
        if let present = try writeIfUnique(row, sql, values) { return .present(present) }
        try note(.add, row)
        return .added(row.item(in: identifier))
    }

    /// Changes every item a query finds, in the current transaction; altered items stay as they are.
    ///
    /// - Throws: `errSecDecode` if only items were found whose seal shows that they were altered.
    private func change(
        _ resolved: ResolvedQuery, _ changes: ItemChanges, _ sealed: SealedSecrets
    ) throws(KeychainError) -> Int {
        let itemClass = resolved.query.itemClass
        let attributes = try changes.checked(for: itemClass)
        let columns = itemClass.columns
        var count = 0
        var damage: KeychainError?
        for row in try matchingRows(resolved) where !row.isAltered {
            let new: ItemRow
            do throws(KeychainError) {
                new = try changed(row, attributes, secret: changes.secret, sealed)
            } catch {
                // As with unreadable rows, one damaged item must not keep the others from being changed.
                guard error.code == .decode else { throw error }
                damage = damage ?? error
                continue
            }
            try checkPasscode(new)
            let (sql, values) = columns.update(new, in: row.id)
            if try writeIfUnique(new, sql, values) != nil { throw duplicate(of: itemClass, new.attributes) }
            try note(.update, new)
            count += 1
        }
        if count == 0, let damage { throw damage }
        return count
    }

    /// Deletes every item that a query finds, in the current transaction. An altered one must be named by its
    /// reference: its attributes may have been another item's.
    ///
    /// - Parameter evenAltered: whether altered items that match by their present values are deleted as well.
    func remove(_ resolved: ResolvedQuery, evenAltered: Bool = false) throws(KeychainError) -> Int {
        let query = resolved.query
        let delete = query.itemClass.columns.delete
        let found = try matchingRows(resolved).filter { !$0.isAltered || evenAltered || query.reference != nil }
        for row in found {
            try KeychainError.mapping { () throws(SQLiteError) in
                try database.run(delete, [.blob(row.id.bytes)])
                try AccessTable.remove(row.reference, from: database)
            }
            try note(.delete, row)
        }
        return found.count
    }

    // MARK: Rows

    private func matchingRows(_ resolved: ResolvedQuery) throws(KeychainError) -> [ItemRow] {
        let query = resolved.query
        var rows: [ItemRow] = []
        try forEachRow(query, startingOver: { rows = [] }) { row throws(KeychainError) in
            // An unreadable row matches no query, and must not keep the others from being changed.
            guard let row = try? row() else { return true }
            let item = row.item(in: identifier)
            let isNamed = row.isAltered && query.reference == item.reference && query.filters.isEmpty
            if isNamed ? resolved.isReadable(item) : resolved.matches(item) { rows.append(row) }
            return true
        }
        return rows
    }

    /// - Returns: the item that has the same unique attributes; nil where the row was written.
    /// - Throws: `errSecDecode` if that item was altered: it may have been another one.
    private func writeIfUnique(_ row: ItemRow, _ sql: String, _ values: [SQLValue]) throws(KeychainError) -> Item? {
        do throws(SQLiteError) {
            try database.run(sql, values)
            return nil
        } catch {
            let error = KeychainError(error)
            guard error.code == .duplicateItem else { throw error }
            let unique = row.itemClass.uniqueValues(of: row.attributes)
            let others = try found(ResolvedQuery(Query(row.itemClass, unique, limit: .all)))
            if let present = others.found.first { return present }
            throw others.missing.first?.error ?? duplicate(of: row.itemClass, row.attributes)
        }
    }

    private func duplicate(of itemClass: ItemClass, _ attributes: Attributes) -> KeychainError {
        let keys: [Attribute] = itemClass.isPassword ? [.service, .server, .account] : [.label]
        let values = keys.compactMap { attributes[$0]?.string }.filter { !$0.isEmpty }
        let name = values.isEmpty ? "" : " '\(values.joined(separator: " "))'"
        return KeychainError(
            .duplicateItem,
            "the \(itemClass.noun)\(name) is in '\(file.keychainName)' already",
            remedy: "change or delete that one, or store the new one in another keychain")
    }

    private func initialAttributes(of new: NewItem) -> Attributes {
        let now = environment.clock()
        let defaults: Attributes = [
            .creationDate: .date(now), .modificationDate: .date(now), .accessGroup: .string(AccessGroup.standard),
            .synchronizable: 0,
            .accessible: new.itemClass == .certificate ? Accessibility.always : Accessibility.whenUnlocked,
        ]
        return defaults.merging(new.attributes) { _, given in given }
    }

    private func changed(
        _ row: ItemRow, _ attributes: Attributes, secret: SharedSecret?, _ sealed: SealedSecrets
    ) throws(KeychainError) -> ItemRow {
        var new = row
        try row.checkMayBecome(attributes)
        new.attributes.merge(attributes) { $1 }
        new.attributes[.modificationDate] = .date(environment.clock())
        // Opened first, so that a new seal does not make an altered row valid.
        let old = try open(row)
        if let sealed = sealed.byItem[row.id], secret != nil {
            try seal(Secret(copying: sealed.span), into: &new)
        } else if secret != nil {
            try row.checkSecretMayChange()
            try seal(secret?.secret.clone(), into: &new)
        } else if row.sealed != nil {
            try seal(old, into: &new)
        }
        return new
    }

    // MARK: Secrets

    private func seal(_ secret: borrowing Secret?, into row: inout ItemRow) throws(KeychainError) {
        if row.itemClass.holdsSecret(row.attributes) { try checkSession(row) }
        switch key {
        case .some(let key): try row.seal(secret, key: key, keychain: id)
        case .none: throw Self.locked
        }
    }

    private func open(_ row: ItemRow) throws(KeychainError) -> Secret? {
        guard row.sealed != nil, !row.isAltered else {
            try row.checkUnsealed()
            return nil
        }
        if row.holdsSecret {
            try checkSession(row)
        } else if key == nil {
            return nil
        }
        switch key {
        case .some(let key):
            do throws(KeychainError) { return try row.open(key: key, keychain: id) } catch {
                // Another process may have sealed the row under another key since this one was looked at.
                try checkKeyIsCurrent()
                throw error
            }
        case .none: throw Self.locked
        }
    }

    // MARK: What is refused

    /// - Throws: `errSecReadOnly`, or `errSecDiskFull` where there is no room for a change.
    package func checkWritable() throws(KeychainError) {
        guard try !isReadOnly else {
            throw KeychainError(
                .readOnly, "the keychain file is read-only",
                remedy: "make it and its folder writable, and open it again")
        }
        guard !lacksRoom else {
            throw KeychainError(.diskFull, remedy: "free some space and try again")
        }
    }

    private func checkSelection(_ query: Query) throws(KeychainError) {
        guard query.itemClass != .identity else {
            throw KeychainError(
                .param, "an identity is a certificate and a key", remedy: "name one of them", key: "class")
        }
        guard query.limit == .one || query.limit == .all else {
            throw KeychainError(.param, "a change concerns every item that matches", key: "m_Limit")
        }
    }

    package static var locked: KeychainError {
        KeychainError(.interactionNotAllowed, "the keychain is locked", remedy: "unlock it")
    }
}
