import Foundation
import TestSupport
import Testing

/// An environment for programs that use the module.
protocol ProgramsOfAConsumer {
    /// The environment of every program.
    var environment: [String: String] { get }

    /// The folder of the programs' files.
    var folder: TemporaryFolder { get }
}

extension ProgramsOfAConsumer {
    /// Runs a program to its end, with any exit status.
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

    // MARK: - Services

    /// Starts a program that serves until the service is released.
    ///
    /// - Parameter isReady: Whether the service can be used; called until it returns true.
    func serve(
        _ command: [String], _ variables: [String: String] = [:], named name: String,
        isReady: () throws -> Bool
    ) throws -> ConsumerService {
        let service = try ConsumerService(
            command, environment: environment.merging(variables) { $1 }, output: folder.path(name + ".log"))
        try eventually { try isReady() || !service.isRunning }
        guard try isReady(), service.isRunning else {
            throw ConsumerService.NotServing(name: name, log: log(of: name))
        }
        return service
    }

    /// Starts a program that serves on a port of 127.0.0.1. If another program takes the port first, it gets another port.
    func serve(
        named name: String, _ variables: [String: String] = [:], _ command: (Int) throws -> [String]
    ) throws -> (service: ConsumerService, port: Int) {
        var attempts = 3
        while true {
            let port = try Loopback.unusedPort()
            do {
                let service = try serve(try command(port), variables, named: name) { Loopback.accepts(port) }
                return (service, port)
            } catch let failure as ConsumerService.NotServing {
                attempts -= 1
                guard attempts > 0, failure.log.localizedCaseInsensitiveContains("address already in use") else {
                    throw failure
                }
            }
        }
    }

    /// The output of a service so far.
    func log(of service: String) -> String {
        String(decoding: (try? folder.read(service + ".log")) ?? [], as: UTF8.self)
    }
}
