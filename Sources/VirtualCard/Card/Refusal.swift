internal import TokenKit

/// Why the card refuses a command.
struct Refusal: Error {
    let status: StatusWord

    init(_ status: StatusWord) {
        self.status = status
    }
}
