import TestSupport
import Testing

/// Whoever has programs run that use the module.
protocol ProgramsOfAConsumer {
    /// What every program finds in its environment.
    var environment: [String: String] { get }
}

extension ProgramsOfAConsumer {
    /// Runs a program to its end, however that may be.
    func run(_ command: [String], _ variables: [String: String] = [:], input: String = "") throws -> ProgramResult {
        try Program.run(command, environment: environment.merging(variables) { $1 }, input: Array(input.utf8))
    }

    /// Runs a program that has to succeed, and returns both its streams as text.
    @discardableResult
    func succeed(
        _ command: [String], _ variables: [String: String] = [:], input: String = "",
        at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try run(command, variables, input: input)
        #expect(result.status == 0, "\(command.joined(separator: " ")): \(result)", sourceLocation: location)
        return result.description
    }

    /// Runs a program that has to fail without crashing, and returns both its streams as text.
    @discardableResult
    func fail(
        _ command: [String], _ variables: [String: String] = [:], input: String = "",
        at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try run(command, variables, input: input)
        #expect(result.status > 0, "\(command.joined(separator: " ")): \(result)", sourceLocation: location)
        return result.description
    }
}
