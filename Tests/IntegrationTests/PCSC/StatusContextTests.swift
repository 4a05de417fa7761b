import TestSupport
import Testing

@testable import TokenKit

/// The context that a process's questions about readers have in common, against a pcscd.
@Suite struct StatusContextTests {
    @Test func questionsAboutReadersShareOneContext() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let reader = try service.reader()
            for _ in 0..<5 {
                #expect(try PCSCReader.all().map(\.name).contains(reader.name))
                #expect(!reader.hasCard)
                #expect(throws: CardError(.noCard, .connecting, reader: reader.name)) { try reader.connect(trace: nil) }
            }
            let first = try #require(StatusContext.shared.numberedStatus(of: reader.name))
            #expect(first.context == 1)
            _ = try service.insert()
            #expect(reader.hasCard)
            #expect(StatusContext.shared.numberedStatus(of: reader.name)?.context == first.context)
            #expect(StatusContext.shared.numberedStatus(of: "No such reader") == nil)
        }
    }

    @Test func aRestartedServiceIsAskedInANewContext() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let name = try service.reader().name
            let first = try #require(StatusContext.shared.numberedStatus(of: name)?.context)
            try service.stop()
            #expect(StatusContext.shared.status(of: name) == nil)
            #expect { try StatusContext.shared.readerNames() } throws: {
                ($0 as? CardError)?.code == .serviceUnavailable
            }
            try service.start()
            #expect(eventually { StatusContext.shared.status(of: name) != nil })
            #expect(try #require(StatusContext.shared.numberedStatus(of: name)?.context) > first)
        }
    }

    @Test func threadsAskBesideEachOther() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let name = try service.reader().name
            let answers = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<40 { group.addTask { (try? PCSCReader.all())?.map(\.name).contains(name) ?? false } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers == Array(repeating: true, count: 40))
        }
    }
}
