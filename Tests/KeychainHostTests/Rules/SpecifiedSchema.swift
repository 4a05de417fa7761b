import ItemDictionaries
import KeychainHost
import KeychainModel

/// The columns of keychain semantics 1.2, written a second time by hand, so that the source is compared with them. A star
/// marks a column that is part of an item's uniqueness.
enum SpecifiedSchema {
    enum Kind: Character, CaseIterable {
        case string = "s"
        case data = "d"
        case number = "n"
        case boolean = "b"
        case time = "t"
        case fourCharacters = "c"
        case accessControl = "o"
    }

    struct Column: Hashable {
        let code: String
        let kind: Kind
        let isUnique: Bool
    }

    static let stored: [ItemClass] = [.genericPassword, .internetPassword, .certificate, .key]

    private static let everyClass = "cdat:t mdat:t labl:s agrp:s* pdmn:s accc:o sync:n* tkid:s alis:d"
    private static let passwords = "desc:s icmt:s crtr:n type:n scrp:n invi:b nega:b cusi:b prot:d"

    static func columns(of itemClass: ItemClass) -> [Column] {
        let own =
            switch itemClass {
            case .genericPassword: "\(passwords) acct:s* svce:s* gena:d"
            case .internetPassword: "\(passwords) acct:s* sdmn:s* srvr:s* ptcl:c* atyp:c* port:n* path:s*"
            case .certificate: "ctyp:n* issr:d* slnr:d* cenc:n subj:d skid:d pkhh:d"
            case .key:
                """
                kcls:n* klbl:d* atag:d* crtr:n* type:n* bsiz:n* esiz:n* sdat:t* edat:t* perm:b priv:b modi:b sens:b \
                asen:b extr:b next:b encr:b decr:b drve:b sign:b vrfy:b snrc:b vyrc:b wrap:b unwp:b
                """
            case .identity: ""
            }
        return "\(everyClass) \(own)".split(separator: " ").compactMap { column in
            let parts = column.split(separator: ":")
            return Kind(rawValue: parts[1].first ?? " ").map {
                Column(code: String(parts[0]), kind: $0, isUnique: parts[1].hasSuffix("*"))
            }
        }
    }

    /// Every code that some class has.
    static let codes = Set(stored.flatMap { columns(of: $0).map(\.code) })

    /// Columns that the keychain keeps for itself.
    static let bookkeeping = [
        "sha1", "vwht", "musr", "ggrp", "tomb", "UUID", "persistref", "sysb", "clip", "pcss", "pcsk", "pcsi", "binn",
        "bini",
        "bin0", "bin1", "bin2", "bin3",
    ]
}

extension SpecifiedSchema.Kind {
    /// Values that a column of the kind takes.
    var fitting: [ItemValue] {
        switch self {
        case .string, .data: [.string("a"), .data([0x61])]
        case .number: [.number(7), .string("7"), .bool(true)]
        case .boolean: [.bool(true), .number(1), .number(0)]
        case .time: [.date(1_700_000_000)]
        case .fourCharacters: [.string("http"), .data(Array("http".utf8)), .number(0x6874_7470)]
        case .accessControl: [.data([1])]
        }
    }

    /// Values of other kinds, which the column refuses.
    private var ofOtherKinds: [ItemValue] {
        switch self {
        case .string, .data: [.number(7), .bool(true), .date(1)]
        case .number: [.string(""), .string("seven"), .data([7]), .date(1)]
        case .boolean: [.string("yes"), .number(2), .data([1])]
        case .time: [.number(1), .string("today"), .data([1])]
        case .fourCharacters: [.string("ftp"), .bool(true), .date(1)]
        case .accessControl: [.string("ak"), .number(1), .bool(true)]
        }
    }

    /// Values that the column refuses: of another kind, or of a kind that no column takes.
    var unfitting: [ItemValue] {
        ofOtherKinds + [.null, .array([]), .dictionary([:]), .reference(.policy(.smime))]
    }
}
