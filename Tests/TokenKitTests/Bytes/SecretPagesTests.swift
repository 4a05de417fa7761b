import Foundation
import Testing

@testable import TokenKit

/// Pages that are kept for the next secret.
@Suite struct SecretPagesTests {
    private func isZero(_ pages: UnsafeMutableRawBufferPointer) -> Bool { pages.allSatisfy { $0 == 0 } }

    @Test func noPageComesWithAnothersBytes() {
        for _ in 0..<100 {
            let pages = (0..<12).map { _ in SecretPages.take(for: 16) }
            #expect(pages.allSatisfy(isZero))
            for page in pages { page.initializeMemory(as: UInt8.self, repeating: 0xA5) }
            for page in pages { SecretPages.giveBack(page) }
        }
    }

    @Test func asManyPagesAsTheBytesTake() {
        let size = sysconf(Int32(_SC_PAGESIZE))
        for (capacity, pages) in [(0, 0), (1, 1), (size, 1), (size + 1, 2), (5 * size, 5)] {
            let buffer = SecretPages.take(for: capacity)
            #expect(buffer.count == pages * size)
            #expect(isZero(buffer))
            SecretPages.giveBack(buffer)
        }
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

    /// Locks of memory are not inherited.
    @Test func aChildTakesNoneOfItsParentsPages() async {
        await #expect(processExitsWith: .success) {
            let page = SecretPages.take(for: 8)
            let address = page.baseAddress
            SecretPages.giveBack(page)
            typealias Fork = @convention(c) () -> pid_t
            let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)
            let child = fork()
            if child == 0 { _exit(SecretPages.take(for: 8).baseAddress == address ? 1 : 0) }
            var status: Int32 = -1
            #expect(waitpid(child, &status, 0) == child && status == 0)
            // The parent has it still.
            #expect(SecretPages.take(for: 8).baseAddress == address)
        }
    }
}
