import Foundation
import Platform
import Testing

@Suite struct AtomicFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    private var path: String { folder.appending(path: "file").path() }
    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path())) ?? [] }

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private func content() throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }

    private func mode() throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func aFileIsReplacedAsAWhole() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        for bytes in [[1, 2, 3], [UInt8](repeating: 7, count: 1 << 20), []] {
            try AtomicFile.replace(path, with: bytes.span)
            #expect(try content() == bytes)
            #expect(try mode() == 0o600)
            #expect(names == ["file"])
        }
    }

    @Test func aFileThatIsThereIsNotMadeAnew() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try AtomicFile.create(path, with: [1].span)
        let error = #expect(throws: SystemError.self) { try AtomicFile.create(path, with: [2].span) }
        #expect(error?.number == EEXIST)
        #expect(try content() == [1])
        #expect(names == ["file"])
    }

    @Test func permissionsAreThoseAskedForWhateverTheMaskIs() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try AtomicFile.replace(path, with: [1].span, mode: .exact(0o646))
        #expect(try mode() == 0o646)
    }

    @Test func aLinkIsReplacedAndWhereItLedIsLeftAlone() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let target = folder.appending(path: "target").path()
        try Data([9]).write(to: URL(filePath: target))
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        try AtomicFile.replace(path, with: [1].span)
        #expect(try Data(contentsOf: URL(filePath: target)) == Data([9]))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType == .typeRegular)
    }

    @Test func whatCannotBeReplacedStaysAndNothingIsLeftBehind() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let error = #expect(throws: SystemError.self) { try AtomicFile.replace(path, with: [1].span) }
        #expect(error?.number == EISDIR)
        #expect(error?.reason == "is a directory")
        #expect(names == ["file"])
        let missing = #expect(throws: SystemError.self) { try AtomicFile.replace("/nothing/here", with: [1].span) }
        #expect(missing?.number == ENOENT)
    }
}
