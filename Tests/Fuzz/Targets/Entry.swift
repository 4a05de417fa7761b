internal import Glibc

/// The function that libFuzzer calls with each input. `FUZZ_TARGET` in the environment names the target.
@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try chosen.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    } catch {
        fatalError(error.description)
    }
    return 0
}

private let chosen: FuzzTarget = {
    let name = unsafe getenv("FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else { fatalError("FUZZ_TARGET is not a target: \(name)") }
    return target
}()
