import Foundation
import Testing

@testable import SecureBytes

/// Pages that are kept for the next secret.
@Suite struct SecretPagesTests {
    /// All bytes of the pages that begin with a secret's bytes.
    private func wholePages(_ bytes: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer {
        let size = sysconf(Int32(_SC_PAGESIZE))
        return UnsafeMutableRawBufferPointer(start: bytes.baseAddress, count: (bytes.count + size - 1) / size * size)
    }

    private func isZero(_ bytes: UnsafeMutableRawBufferPointer) -> Bool { wholePages(bytes).allSatisfy { $0 == 0 } }

    @Test func noPageComesWithAnothersBytes() {
        for _ in 0..<100 {
            let pages = (0..<12).map { SecretPages.take(for: 1 + $0 * 400) }
            #expect(pages.allSatisfy(isZero))
            for page in pages { page.initializeMemory(as: UInt8.self, repeating: 0xA5) }
            for page in pages { SecretPages.giveBack(page) }
        }
    }

    @Test func theBytesHaveTheirPagesForThemselves() {
        let size = sysconf(Int32(_SC_PAGESIZE))
        let counts = [0, 1, size, size + 1, 5 * size]
        let buffers = counts.map { SecretPages.take(for: $0) }
        #expect(buffers.map(\.count) == counts)
        #expect(buffers.allSatisfy(isZero))
        #expect(buffers.allSatisfy { Int(bitPattern: $0.baseAddress) % size == 0 })
        for (index, buffer) in buffers.enumerated() {
            buffer.initializeMemory(as: UInt8.self, repeating: UInt8(index + 1))
        }
        for (index, buffer) in buffers.enumerated() {
            #expect(buffer.allSatisfy { $0 == index + 1 })
            #expect(wholePages(buffer).dropFirst(buffer.count).allSatisfy { $0 == 0 })
        }
        for buffer in buffers { SecretPages.giveBack(buffer) }
        #expect(SecretPages.take(for: -1).count == 0)
    }

    @Test func noTwoThreadsGetOnePage() {
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            let mark = UInt8(thread + 1)
            for _ in 0..<5_000 {
                let (one, other) = (SecretPages.take(for: 8), SecretPages.take(for: 8))
                let wereClean = isZero(one) && isZero(other)
                one.initializeMemory(as: UInt8.self, repeating: mark)
                other.initializeMemory(as: UInt8.self, repeating: mark)
                if !wereClean || !one.allSatisfy({ $0 == mark }) || !other.allSatisfy({ $0 == mark }) {
                    Issue.record("a page was another thread's as well")
                }
                SecretPages.giveBack(one)
                SecretPages.giveBack(other)
            }
        }
    }

    /// A child does not inherit the locks of its parent's memory.
    @Test func aChildTakesNoneOfItsParentsPages() async {
        await #expect(processExitsWith: .success) {
            let page = SecretPages.take(for: 8)
            let address = page.baseAddress
            SecretPages.giveBack(page)
            let status = try statusOfChild { SecretPages.take(for: 8).baseAddress == address ? 1 : 0 }
            #expect(status == 0)
            // The parent still has the page.
            #expect(SecretPages.take(for: 8).baseAddress == address)
        }
    }

    @Test func aForkedChildDoesNotHaveTheSecretsOfItsParent() async {
        await #expect(processExitsWith: .success) {
            // A page that had another secret before, and new ones.
            SecretPages.giveBack(SecretPages.take(for: 8))
            let secrets = [8, 8, 100_000].map { SecretPages.take(for: $0) }
            for secret in secrets { secret.initializeMemory(as: UInt8.self, repeating: 0xA5) }
            let status = try statusOfChild { secrets.allSatisfy { page in page.allSatisfy { $0 == 0 } } ? 0 : 1 }
            #expect(status == 0)
            let isUnchanged = secrets.allSatisfy { page in page.allSatisfy { $0 == 0xA5 } }
            #expect(isUnchanged, "the parent has them still")
        }
    }
}

extension SecretPagesTests {
    /// Zeros in place of the secret would be taken for a key, or sent as a PIN.
    @Test func aSecretIsEmptyInAForkedChild() async {
        await #expect(processExitsWith: .success) {
            for count in [1, 16, 4095, 4096] {
                var bytes = [UInt8](repeating: 0x31, count: count)
                let secret = Secret(consuming: &bytes)
                let status = try statusOfChild(secret) { secret in
                    var bytes: [UInt8] = [1, 2]
                    let isNewOneWhole = Secret(consuming: &bytes).count == 2
                    let isEmpty = secret.isEmpty && secret.bytes.count == 0 && secret.clone().isEmpty
                    return isEmpty && isNewOneWhole ? 0 : 1
                }
                let countHere = secret.count
                #expect(status == 0 && countHere == count)
            }
        }
    }
}

/// The status with which a child by fork ends.
private func statusOfChild(_ body: () -> Int32) throws -> Int32 {
    try statusOfChild(Secret(capacity: 0) { _ in }) { _ in body() }
}

private func statusOfChild(_ secret: borrowing Secret, _ body: (borrowing Secret) -> Int32) throws -> Int32 {
    typealias Fork = @convention(c) () -> pid_t
    let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)
    let child = fork()
    if child == 0 { _exit(body(secret)) }
    var status: Int32 = -1
    #expect(waitpid(child, &status, 0) == child)
    return status
}
