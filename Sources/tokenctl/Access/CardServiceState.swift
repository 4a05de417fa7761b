internal import TokenKit

/// The state of the machine's card service.
enum CardServiceState {
    /// It runs, with the reasons why cards have to be waited for.
    case running(readers: Int, cards: Int, held: [String])
    /// - Parameter isAbsent: whether the service does not run.
    case failed(String, isAbsent: Bool)

    /// No command is sent to a card.
    static var now: CardServiceState {
        do throws(CardError) {
            let readers = try PCSCReader.all()
            return .running(
                readers: readers.count, cards: readers.filter(\.hasCard).count, held: readers.compactMap(holder))
        } catch {
            return .failed(error.reason, isAbsent: error.code == .serviceUnavailable)
        }
    }

    private static func holder(of reader: PCSCReader) -> String? {
        guard reader.hasCard else { return nil }
        do throws(CardError) {
            _ = try PCSCReader(name: reader.name, patience: .zero).connect(trace: nil, CardWait())
            return nil
        } catch {
            return error.reason
        }
    }
}
