internal import ArgumentParser

@main
struct Tokenctl: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "tokenctl", abstract: "One keychain over smart cards and local stores.")
}
