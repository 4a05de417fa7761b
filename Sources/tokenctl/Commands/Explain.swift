internal import KeychainModel
internal import ArgumentParser
internal import HostAPI
internal import ItemDictionaries
internal import Localization

struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say what a search would do, without asking anybody for anything.",
        discussion: """
            The query is written as for item; one match is wanted where m_Limit says nothing else. Each keychain is listed with what became of it, what would have to be asked \
            for to read what is wanted, and how its rows are found.
            """)

    @Argument(help: "What the items have, as class=cert,m_SubjectContains=Jo; or their pkcs11: URIs.")
    var pairs: [String]

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions

    struct VisitRow: Row {
        static let columns: [LocalizedKey] = ["KEYCHAIN", "OUTCOME", "WOULD ASK FOR", "ROWS FOUND BY"]
        let keychain: String
        let outcome: Outcome
        let matches: Int?
        /// The reason why it was not searched, as a sentence.
        let reason: String?
        /// The errors of damaged rows.
        let damage: [String]
        let question: String?
        let plan: [String]

        enum Outcome: String, Encodable {
            case searched, skipped, failed
        }

        var cells: [String] {
            let found =
                matches.map { String(localized: "\($0) found") } ?? "\(Word.shown("\(outcome)")): \(reason ?? "")"
            let text = ([found] + damage.map { String(localized: "damaged: \($0)") }).joined(separator: "; ")
            return [keychain, text, question ?? String(localized: "nothing"), plan.joined(separator: "; ")]
        }
    }

    private struct Report: Encodable {
        let itemClass: String
        let columns: [String]
        let filters: [String]
        let limit: Int?
        let count: Int
        let keychains: [VisitRow]
    }

    func run() throws {
        let session = CommandKeychains(try HostAccess(cards, accessGroups: nil))
        let host = session.access.host
        let request = RequestContext.silent
        let explanations = try ItemQueries(pairs).dictionaries(in: session).map { try host.explain($0, request) }
        let labels = Dictionary(try session.foundTokens().found.map { ($0.location, $0.name) }) { first, _ in first }
        for explanation in explanations { try show(explanation, labels) }
    }

    /// - Parameter labels: the labels of cards by their readers, which name them in a search.
    private func show(_ explanation: Explanation, _ labels: [String: String]) throws {
        let visits = explanation.visits.map { Explain.row($0, labels[$0.keychain]) }
        if output.json {
            return try Listing.showJSON(
                Report(
                    itemClass: explanation.itemClass.rawValue, columns: explanation.columns.map(\.rawValue),
                    filters: explanation.filters, limit: explanation.limit, count: explanation.count,
                    keychains: visits))
        }
        StandardOutput.line(localized: "Columns: \(Explain.list(explanation.columns.map(\.rawValue)))")
        StandardOutput.line(localized: "Filters: \(Explain.list(explanation.filters))")
        try Listing.show(visits, json: false)
        StandardOutput.line(
            localized: explanation.limit.map { "\(explanation.count) of at most \($0) would be returned." }
                ?? "\(explanation.count) of at most all would be returned.")
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? Word.shown("none") : names.joined(separator: ", ")
    }

    private static func row(_ visit: Explanation.Visit, _ label: String?) -> VisitRow {
        let (outcome, matches, reason): (VisitRow.Outcome, Int?, String?) =
            switch visit.outcome {
            case .searched(let matches): (.searched, matches, nil)
            case .skipped(let reason): (.skipped, nil, "\(reason)")
            case .failed(let reason): (.failed, nil, "\(reason)")
            }
        return VisitRow(
            keychain: label ?? visit.keychain, outcome: outcome, matches: matches, reason: reason,
            damage: visit.damage.map { "\($0)" }, question: visit.question, plan: visit.plan)
    }
}
