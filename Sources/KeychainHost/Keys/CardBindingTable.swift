/// The rows of the table `card_binding`, one for each card.
enum CardBindingTable {
    /// Every binding, in the order they were made.
    ///
    /// - Throws: `errSecDecode` for a row that this program cannot have written.
    static func all(in database: borrowing Database) throws(KeychainError) -> [CardBinding] {
        guard try KeychainError.mapping({ () throws(SQLiteError) in try !database.hasAlteredRow("card_binding") })
        else {
            throw damaged
        }
        let statement = try KeychainError.mapping { () throws(SQLiteError) in
            try database.prepare(
                """
                SELECT reference, label, public_key, algorithm, exchange, salt, wrapped_key
                FROM card_binding ORDER BY id
                """)
        }
        var bindings: [CardBinding] = []
        while try KeychainError.mapping({ () throws(SQLiteError) in try statement.step() }) {
            guard let binding = CardBinding(row: statement) else { throw damaged }
            bindings.append(binding)
        }
        return bindings
    }

    /// Adds a binding, in place of one the card had.
    static func put(_ binding: CardBinding, in database: borrowing Database) throws(KeychainError) {
        try KeychainError.mapping { () throws(SQLiteError) in
            try database.run(
                """
                INSERT INTO card_binding (token, reference, label, public_key, algorithm, exchange, salt, wrapped_key)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (token) DO UPDATE SET reference = excluded.reference, label = excluded.label,
                public_key = excluded.public_key, algorithm = excluded.algorithm, exchange = excluded.exchange,
                salt = excluded.salt, wrapped_key = excluded.wrapped_key
                """,
                [
                    .text(binding.tokenID), .blob(binding.reference.encoded()), .text(binding.label),
                    .blob(binding.publicKey), .text(binding.algorithm.rawValue), .blob(binding.exchange),
                    .blob(binding.salt), .blob(binding.wrapped),
                ])
            try database.stampRows(of: "card_binding", where: "token = ?", [.text(binding.tokenID)])
        }
    }

    private static var damaged: KeychainError {
        KeychainError(.decode, "a binding to a card is damaged", remedy: "unbind all cards and bind again")
    }

    /// Removes the binding of a card, or of every card.
    ///
    /// - Returns: how many there were.
    static func remove(_ token: String?, from database: borrowing Database) throws(KeychainError) -> Int {
        try KeychainError.mapping { () throws(SQLiteError) in
            if let token {
                try database.run("DELETE FROM card_binding WHERE token = ?", [.text(token)])
            } else {
                try database.run("DELETE FROM card_binding")
            }
            return Int(clamping: database.changes)
        }
    }
}

extension CardBinding {
    fileprivate init?(row: borrowing Statement) {
        guard let reference = row[0].blob.flatMap({ try? PersistentReference(parsing: $0) }),
            reference.itemClass == .key, reference.tokenID != nil, let label = row[1].text,
            let publicKey = row[2].blob, let algorithm = row[3].text.flatMap(KeyAlgorithm.init(rawValue:)),
            let exchange = row[4].blob, let salt = row[5].blob, let wrapped = row[6].blob
        else { return nil }
        self.init(
            reference: reference, label: label, publicKey: publicKey, algorithm: algorithm, exchange: exchange,
            salt: salt, wrapped: wrapped)
    }
}
