package import KeychainModel
internal import Localization
internal import SystemCrypto

/// The rows of the table `card_binding`, one for each card.
package enum CardBindingTable {
    /// The unaltered bindings, in the order of their creation, and the error for the others.
    package static func all(
        in database: borrowing Database
    ) throws(KeychainError) -> (rows: [CardBindingRow], damage: KeychainError?) {
        let altered = try KeychainError.mapping { () throws(SQLiteError) in
            try database.alteredRows(of: "card_binding")
        }
        var damage = altered.isEmpty ? nil : damaged
        // A file that cannot be written keeps its older layout.
        let hasProof = try Migrations.checkedVersion(of: database) >= Migrations.firstVersionWithProof
        let statement = try KeychainError.mapping { () throws(SQLiteError) in
            try database.prepare(
                """
                SELECT reference, label, public_key, algorithm, exchange, salt, wrapped_key, id,
                \(hasProof ? "proof" : "NULL") FROM card_binding ORDER BY id
                """)
        }
        var rows: [CardBindingRow] = []
        while try KeychainError.mapping({ () throws(SQLiteError) in try statement.step() }) {
            if altered.contains(statement[7]) { continue }
            // A row that this program cannot have written is not used either, even if its checksum fits.
            if let row = CardBindingRow(statement) { rows.append(row) } else { damage = damaged }
        }
        return (rows, damage)
    }

    /// Adds a binding, replacing an earlier one of the card.
    package static func put(_ binding: CardBindingRow, in database: borrowing Database) throws(KeychainError) {
        try KeychainError.mapping { () throws(SQLiteError) in
            try database.run(
                """
                INSERT INTO card_binding
                (token, reference, label, public_key, algorithm, exchange, salt, wrapped_key, proof)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (token) DO UPDATE SET reference = excluded.reference, label = excluded.label,
                public_key = excluded.public_key, algorithm = excluded.algorithm, exchange = excluded.exchange,
                salt = excluded.salt, wrapped_key = excluded.wrapped_key, proof = excluded.proof
                """,
                [
                    .text(binding.reference.tokenID ?? ""), .blob(binding.reference.encoded()), .text(binding.label),
                    .blob(binding.publicKey), .text(binding.algorithm), .blob(binding.exchange),
                    .blob(binding.salt), .blob(binding.wrapped),
                    binding.proof.map { .blob($0) } ?? .null,
                ])
            try database.stampRows(of: "card_binding", where: "token = ?", [.text(binding.reference.tokenID ?? "")])
        }
    }

    package static var damaged: KeychainError {
        KeychainError(
            .decode, "a binding of the keychain to a card is damaged",
            remedy: "take all back with unbind-keychain, and bind the cards again")
    }

    /// Removes the binding of a card, or of every card.
    ///
    /// - Returns: the number of removed bindings.
    package static func remove(_ token: String?, from database: borrowing Database) throws(KeychainError) -> Int {
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
